"""The page Models: what is served and from where, what the swarm lacks, downloads, and what lies on the disk."""

from __future__ import annotations

from potluck_control.methods import models
from potluck_control.methods.models import (
    Deleted,
    DeleteParams,
    Models,
    ModelsFolder,
    MoveParams,
    Need,
    Progress,
    Served,
    StoredModel,
)
from potluck_control.schema import Status
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from potluck_app.pages.page import DaemonCaller, Page
from potluck_app.pages.swarms import SwarmsCard
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import card, line, text
from potluck_app.widgets.placeholder import Placeholder
from potluck_app.widgets.question import Question
from potluck_app.widgets.row import Row
from potluck_app.widgets.strip import BlockStrip
from potluck_app.widgets.theme import Type
from potluck_app.words import layers, numbers, sentences
from potluck_app.words.language import tr

_STEPS = 1000
_FEW = 4  # of what the swarm needs most


class ModelsPage(Page):
    """Asks again while somebody looks: downloads go on."""

    AGAIN_MS = 2000

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, self.tr("Models"))
        self._shown: tuple[object, ...] = ()
        self._looking = Placeholder("models", self.tr("Looking…"))
        self._served, served_column = card(self.tr("Served here"))
        self._swarm, swarm_column = card(self.tr("What the swarm needs"))
        self._disk, disk_column = card(self.tr("On the disk"))
        self._served_lines, self._needs, self._stored = QWidget(), QWidget(), QWidget()
        self._bar, self._progress, self._strip = QProgressBar(), text("muted", kind=Type.CAPTION), BlockStrip()
        self._seen = text("muted")
        self._bar.setRange(0, _STEPS)
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName(self.tr("Progress of the download"))
        self._columns = (served_column, swarm_column, disk_column)
        for widget in (self._served_lines, self._bar, self._progress):
            served_column.addWidget(widget)
        for widget in (self._strip, self._seen, self._needs):
            swarm_column.addWidget(widget)
        disk_column.addWidget(self._stored)
        self._swarms = SwarmsCard(self)
        for frame in (self._served, self._swarm, self._swarms, self._disk):
            frame.hide()
            self.column.addWidget(frame)
        self.column.insertWidget(0, self._looking)

    @property
    def is_unsaved(self) -> bool:
        return self._swarms.is_unsaved

    def show_status(self, status: Status) -> None:
        swarm = status.swarm
        if swarm is not None:
            said = layers.blocks(swarm)
            self._strip.show_swarm(swarm, said)
            self._seen.setText("\n".join(filter(None, (said, layers.outlook(swarm)))))

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
        self._swarm.setVisible(found.served is not None)
        served, swarm, disk = self._columns
        self._served_lines = _replace(served, self._served_lines, self._lines(found.served))
        self._needs = _replace(swarm, self._needs, self._build_needs(found.needs))
        self._stored = _replace(disk, self._stored, self._build_stored(found))

    def _lines(self, served: Served | None) -> QWidget:
        if served is None:
            said = self.tr("Join a swarm, and this computer takes the blocks that it lacks most.")
            return Placeholder("models", self.tr("Nothing is served"), said)
        around, column = _column(theme.SPACE_XS)
        column.addWidget(text(kind=Type.FIGURE, said=layers.model(served.model)))
        for said in _described(served):
            column.addWidget(text("muted", said=said))
        return around

    def _show_progress(self, found: Models) -> None:
        loading = found.served.loading if found.served is not None else None
        progress = found.download or loading
        for widget in (self._bar, self._progress):
            widget.setVisible(progress is not None and found.served is not None)
        if progress is None:
            return
        self._bar.setValue(round(_STEPS * progress.done_bytes / progress.total_bytes) if progress.total_bytes else 0)
        said = self.tr("Downloading: {progress}") if found.download is not None else self.tr("Loading: {progress}")
        self._progress.setText(said.format(progress=_how_far(progress)))

    def _build_needs(self, needs: tuple[Need, ...]) -> QWidget:
        """Nothing where all blocks are served alike."""
        around, column = _column(theme.SPACE_S)
        for need in needs[:_FEW]:
            blocks = self.tr("Blocks {blocks}").format(blocks=layers.span(need.start, need.end))
            servers = self.tr("%n server(s)", "", need.replicas) if need.replicas else self.tr("nobody")
            row = QHBoxLayout()
            row.addWidget(text(said=blocks), 1)
            row.addWidget(text("muted" if need.replicas else "error", said=servers))
            column.addLayout(row)
        return around

    def _build_stored(self, found: Models) -> QWidget:
        around, column = _column(theme.SPACE_M)
        column.addWidget(self._folder_row(found.folder))
        if found.move is not None and not found.move.is_done:
            progress = found.move.progress
            moving = self.tr("Moving to {folder}: {progress}").format(
                folder=found.move.target, progress=_how_far(progress)
            )
            problem = sentences.sentence(found.move.problem) if found.move.problem else ""
            column.addWidget(text("error" if problem else "muted", said=problem or moving))
        for model in found.stored:
            column.addWidget(line())
            column.addWidget(self._stored_row(model))
        if found.folder.prepared_bytes:
            delete = Button(self.tr("Delete"), "trash", "quiet")
            delete.clicked.connect(lambda: self._delete(""))
            said = self.tr("{size}, made again when needed").format(size=numbers.size(found.folder.prepared_bytes))
            column.addWidget(line())
            column.addWidget(Row(self.tr("Blocks prepared for this computer"), said, delete))
            delete.setAccessibleName(self.tr("Delete prepared blocks"))
        return around

    def _folder_row(self, folder: ModelsFolder) -> Row:
        used = numbers.size(folder.models_bytes + folder.prepared_bytes)
        said = self.tr("{used} used, {free} free on this disk").format(used=used, free=numbers.size(folder.free_bytes))
        choose = Button(self.tr("Move…"), "folder")
        choose.clicked.connect(self._choose_folder)
        row = Row(folder.path, said, choose)
        choose.setAccessibleName(self.tr("Move the models to another folder"))
        return row

    def _stored_row(self, model: StoredModel) -> Row:
        parts = [numbers.size(model.bytes)]
        if model.is_served:
            parts.append(self.tr("served now"))
        elif model.swarms:
            parts.append(self.tr("used by {swarms}").format(swarms=", ".join(model.swarms)))
        if model.partial_bytes:
            parts.append(self.tr("not complete"))
        delete = Button(self.tr("Delete"), "trash", "quiet")
        delete.setEnabled(not model.is_served)
        delete.clicked.connect(lambda: self._ask_delete(model))
        row = Row(model.name, " · ".join(parts), delete)
        delete.setAccessibleName(self.tr("Delete {model}").format(model=model.name))
        return row

    def _ask_delete(self, model: StoredModel) -> None:
        """Asked back once: fetching it again may take hours."""
        said = self.tr("{size} become free. If the model is needed again, it is downloaded again.")
        question = Question(self, self.tr("Delete {model}?").format(model=model.name), self.tr("Delete"))
        question.setInformativeText(said.format(size=numbers.size(model.bytes)))
        question.confirmed.connect(lambda: self._delete(model.name, force=bool(model.swarms)))
        question.open()

    def _delete(self, name: str, *, force: bool = False) -> None:
        self.ask(models.DELETE, DeleteParams(name, force), self._deleted)

    def _deleted(self, deleted: Deleted) -> None:
        self.tell(self.tr("{size} are free again.").format(size=numbers.size(deleted.freed_bytes)))
        self.refresh()

    def _choose_folder(self) -> None:
        chosen = QFileDialog.getExistingDirectory(self, self.tr("Folder for models"))
        if chosen:
            self.ask(models.MOVE, MoveParams(chosen), self._show)


def _described(served: Served) -> list[str]:
    """Where it is from, what is here and how it is computed; what is not known yet is left out."""
    lines = [tr("Swarm “{swarm}”, %n block(s) in all", "", served.num_blocks).format(swarm=served.swarm)]
    if served.span is not None:
        start, end = served.span
        here = tr("%n of them here: {blocks}", "", end - start)
        lines.append(here.format(blocks=layers.span(start, end)))
    if served.dtype:
        how = tr("Computed on {device} in {dtype}").format(device=served.device, dtype=served.dtype)
        held = tr("weights held in {format}").format(format=served.quantization)
        lines.append(how if served.quantization in ("", "none") else f"{how}, {held}")
    if served.device_bytes:
        stay = tr("{size} of weights stay in its memory").format(size=numbers.size(served.device_bytes))
        flow = tr("{size} pass through it each time").format(size=numbers.size(served.streamed_bytes))
        lines.append(f"{stay}, {flow}" if served.streamed_blocks else stay)
    return lines


def _how_far(progress: Progress) -> str:
    done, total = numbers.size(progress.done_bytes), numbers.size(progress.total_bytes)
    said = tr("{done} of {all}").format(done=done, all=total) if progress.total_bytes else done
    if progress.bytes_per_s:
        said += ", " + tr("{size} in a second").format(size=numbers.size(round(progress.bytes_per_s)))
    return said


def _still(found: Models) -> tuple[object, ...]:
    """What is drawn anew when it changes; progress moves all the time and is not in it."""
    served, folder = found.served, found.folder
    here = () if served is None else (*_described(served), served.model)
    disk = (folder.path, folder.models_bytes >> 20, folder.prepared_bytes >> 20, folder.free_bytes >> 28)
    return here, found.needs, disk, found.stored, found.move


def _column(spacing: int) -> tuple[QWidget, QVBoxLayout]:
    around, column = QWidget(), QVBoxLayout()
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(spacing)
    around.setLayout(column)
    return around, column


def _replace(column: QVBoxLayout, old: QWidget, new: QWidget) -> QWidget:
    column.replaceWidget(old, new)
    old.setParent(None)
    return new
