"""The page Models: what this computer serves, what the swarm needs, downloads, and the models on the disk."""

from __future__ import annotations

from potluck_control.methods import models
from potluck_control.methods.models import (
    Deleted,
    DeleteParams,
    FolderParams,
    Models,
    ModelsFolder,
    Need,
    Progress,
    Served,
    StoredModel,
)
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QFileDialog, QWidget

from potluck_app.pages.page import DaemonCaller, Page, Part
from potluck_app.pages.swarms import SwarmsCard
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Card, divided, text
from potluck_app.widgets.fetching import FetchBar
from potluck_app.widgets.layout import Slot, column, holder, row
from potluck_app.widgets.placeholder import Placeholder, Waiting
from potluck_app.widgets.question import Question
from potluck_app.widgets.row import Row
from potluck_app.widgets.theme import Type
from potluck_app.words import engine, layers, numbers, sentences
from potluck_app.words.language import tr

_FEW = 4  # lines about what the swarm needs most


class ModelsPage(Page):
    """Asks again while it is on the screen, for downloads go on."""

    AGAIN_MS = 2000

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, self.tr("Models"))
        self._shown: tuple[object, ...] = ()
        self._looking = Waiting("models")
        self._served_lines, self._needs, self._stored = Slot(), Slot(), Slot()
        self._bar = FetchBar(self.tr("Download progress"))
        self._served = Card(self.tr("On this computer"), self._served_lines, self._bar)
        self._swarm = Card(self.tr("What the swarm needs"), self._needs)
        self._disk = Card(self.tr("On the disk"), self._stored)
        self._swarms = SwarmsCard(self)
        self.column.addWidget(self._looking)
        for frame in (self._served, self._swarm, self._swarms, self._disk):
            frame.hide()
            self.column.addWidget(frame)

    @property
    def is_unsaved(self) -> bool:
        return self._swarms.is_unsaved

    def lead_to(self, part: Part, swarm: str = "") -> None:
        """Go to where an invite is entered, which may not be on the page yet."""
        if part is Part.JOIN:
            self._swarms.ask_invite(swarm)
            QTimer.singleShot(0, self, lambda: self.ensureWidgetVisible(self._swarms))

    def refresh(self) -> None:
        self.ask(models.LIST, None, self._show)
        self._swarms.refresh()

    def _show(self, found: Models) -> None:
        self._show_progress(found)
        still = _still(found)
        if still == self._shown:
            return
        self._shown = still
        self._looking.hide()
        for frame in (self._served, self._swarms, self._disk):
            frame.show()
        self._swarm.setVisible(bool(found.needs))
        self._served_lines.show_content(self._lines(found.served))
        self._needs.show_content(self._build_needs(found.needs))
        self._stored.show_content(self._build_stored(found))

    def _lines(self, served: Served | None) -> QWidget:
        if served is None:
            said = self.tr("Join a swarm. This computer then takes the layers that the swarm needs most.")
            return Placeholder("models", self.tr("Not serving a model"), said)
        name = text(kind=Type.FIGURE, said=layers.model(served.model))
        lines = (text("muted", said=said) for said in _described(served))
        return holder(column(name, *lines, spacing=theme.SPACE_XS))

    def _show_progress(self, found: Models) -> None:
        loading = found.served.loading if found.served is not None else None
        progress = found.download or loading
        self._bar.setVisible(progress is not None and found.served is not None)
        if progress is not None:
            said = self.tr("Downloading…") if found.download is not None else self.tr("Loading…")
            self._bar.say(said, progress.done_bytes, progress.total_bytes)

    def _build_needs(self, needs: tuple[Need, ...]) -> QWidget:
        """Return a line for each stretch of layers with the fewest servers; none if all have as many."""
        lines = []
        for need in needs[:_FEW]:
            said = self.tr("Layers {layers}").format(layers=layers.span(need.start, need.end))
            servers = self.tr("%n server(s)", "", need.replicas) if need.replicas else self.tr("nobody")
            lines.append(row((text(said=said), 1), text("muted" if need.replicas else "error", said=servers)))
        return holder(column(*lines, spacing=theme.SPACE_S))

    def _build_stored(self, found: Models) -> QWidget:
        rows: list[QWidget] = [self._folder_row(found.folder), *map(self._stored_row, found.stored)]
        if found.move is not None and not found.move.is_done:
            moving = self.tr("Moving to {folder}: {progress}")
            said = moving.format(folder=found.move.target, progress=_moved(found.move.progress))
            problem = sentences.reason(found.move.problem)
            rows.insert(1, text("error" if problem else "muted", said=problem or said))
        if found.folder.prepared_bytes:
            about = self.tr("Delete prepared layers")
            delete = Button(self.tr("Delete"), "trash", "quiet", lambda: self._delete(""), about=about)
            said = self.tr("{size}. Potluck makes them again when needed.")
            size = numbers.size(found.folder.prepared_bytes)
            rows.append(Row(self.tr("Layers prepared for this computer"), said.format(size=size), delete))
        return holder(column(*divided(rows)))

    def _folder_row(self, folder: ModelsFolder) -> Row:
        used = numbers.size(folder.models_bytes + folder.prepared_bytes)
        said = self.tr("{used} used, {free} free").format(used=used, free=numbers.size(folder.free_bytes))
        about = self.tr("Move the models to another folder")
        return Row(folder.path, said, Button(self.tr("Move…"), "folder", act=self._choose_folder, about=about))

    def _stored_row(self, model: StoredModel) -> Row:
        parts = [numbers.size(model.bytes)]
        if model.is_served:
            parts.append(self.tr("serving now"))
        elif model.swarms:
            parts.append(self.tr("used by {swarms}").format(swarms=", ".join(model.swarms)))
        if model.partial_bytes:
            parts.append(self.tr("incomplete"))
        about = self.tr("Delete {model}").format(model=model.name)
        delete = Button(self.tr("Delete"), "trash", "quiet", lambda: self._ask_delete(model), about=about)
        delete.setEnabled(not model.is_served)
        return Row(model.name, " · ".join(parts), delete)

    def _ask_delete(self, model: StoredModel) -> None:
        """Ask before deleting, for another download may take hours."""
        said = self.tr("Frees {size}. Potluck downloads the model again when it needs it.")
        said = said.format(size=numbers.size(model.bytes))
        asked, delete = self.tr("Delete {model}?").format(model=model.name), self.tr("Delete")
        Question(self, asked, said, delete, lambda: self._delete(model.name, force=bool(model.swarms))).open()

    def _delete(self, name: str, *, force: bool = False) -> None:
        self.ask(models.DELETE, DeleteParams(name, force), self._deleted)

    def _deleted(self, deleted: Deleted) -> None:
        self.tell(self.tr("Freed {size}.").format(size=numbers.size(deleted.freed_bytes)))
        self.refresh()

    def _choose_folder(self) -> None:
        chosen = QFileDialog.getExistingDirectory(self, self.tr("Choose a folder for models"))
        if chosen:
            self.ask(models.MOVE, FolderParams(chosen), self._show)


def _described(served: Served) -> list[str]:
    """Return lines about the swarm, the layers here and how they are computed, as far as that is known."""
    lines = [tr("Swarm “{swarm}”, %n layer(s)", "", served.num_blocks).format(swarm=served.swarm)]
    if served.span is not None:
        here = tr("Here: {layers} (%n)", "", served.span[1] - served.span[0])
        lines.append(here.format(layers=layers.span(*served.span)))
    if served.dtype:
        how = tr("Computed on {device}, {dtype}").format(device=engine.device(served.device), dtype=served.dtype)
        held = tr("weights in {format}").format(format=served.quantization)
        lines.append(how if served.quantization in ("", "none") else f"{how}, {held}")
    if served.device_bytes:
        stay = tr("{size} of weights in device memory").format(size=numbers.size(served.device_bytes))
        flow = tr("{size} loaded for each step").format(size=numbers.size(served.streamed_bytes))
        experts = tr("{size} of experts in RAM").format(size=numbers.size(served.ram_bytes))
        shown = (stay, *((experts,) if served.ram_bytes else ()), *((flow,) if served.streamed_blocks else ()))
        lines.append(", ".join(shown))
    return lines


def _moved(progress: Progress) -> str:
    return engine.fetched(progress.done_bytes, progress.total_bytes, progress.bytes_per_s, None)


def _still(found: Models) -> tuple[object, ...]:
    """Return what is drawn anew when it changes; progress, which moves all the time, is not in it."""
    served, folder = found.served, found.folder
    here = () if served is None else (*_described(served), served.model)
    disk = (folder.path, folder.models_bytes >> 20, folder.prepared_bytes >> 20, folder.free_bytes >> 28)
    return here, found.needs, disk, found.stored, found.move
