"""The models on this computer: how the served one is computed, and those on the disk."""

from __future__ import annotations

from potluck_control.methods import models, settings
from potluck_control.methods.models import (
    Deleted,
    DeleteParams,
    Models,
    ModelsFolder,
    Served,
    StoredModel,
)
from potluck_control.methods.settings import Change, SetParams
from PySide6.QtWidgets import QFileDialog, QWidget

from potluck_app.pages.page import Page
from potluck_app.pages.section import Section
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Card, text
from potluck_app.widgets.layout import Poll
from potluck_app.widgets.question import Question
from potluck_app.widgets.row import Row, Rows
from potluck_app.words import engine, numbers
from potluck_app.words.language import tr

_LOOK_MS = 2000


class ModelsCard(Section):
    """Asks again and again while models come."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._served, self._stored = text(), Rows()
        self._poll = Poll(self, self.refresh)
        self.fill(Card(self.tr("Computed here"), self._served), Card(self.tr("On the disk"), self._stored))

    def refresh(self) -> None:
        self.page.ask(models.LIST, None, self._show)

    def _show(self, found: Models) -> None:
        is_loading = found.served is not None and found.served.loading is not None
        self._poll.run_while(is_loading, _LOOK_MS)
        self._served.setText("\n".join(described(found.served)) or self.tr("Nothing is served now."))
        self._stored.show_rows(_still(found), lambda: self._rows(found))

    def _rows(self, found: Models) -> list[QWidget]:
        rows: list[QWidget] = [self._folder_row(found.folder), *map(self._stored_row, found.stored)]
        if found.folder.prepared_bytes:
            about = self.tr("Delete prepared layers")
            delete = Button(self.tr("Delete"), "trash", "quiet", lambda: self._delete(""), about=about)
            said = self.tr("{size}. Potluck makes them again when needed.")
            size = numbers.size(found.folder.prepared_bytes)
            rows.append(Row(self.tr("Layers prepared for this computer"), said.format(size=size), delete))
        return rows

    def _folder_row(self, folder: ModelsFolder) -> Row:
        used = numbers.size(folder.models_bytes + folder.prepared_bytes)
        said = self.tr("{used} used, {free} free").format(used=used, free=numbers.size(folder.free_bytes))
        about = self.tr("Choose a folder for models")
        return Row(folder.path, said, Button(self.tr("Choose…"), "folder", act=self._choose_folder, about=about))

    def _stored_row(self, model: StoredModel) -> Row:
        parts = [numbers.size(model.bytes)]
        if model.is_served:
            parts.append(self.tr("serving now"))
        elif model.swarms:
            parts.append(self.tr("used by {swarms}").format(swarms=", ".join(model.swarms)))
        if model.is_partial:
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
        self.page.ask(models.DELETE, DeleteParams(name, force), self._deleted)

    def _deleted(self, deleted: Deleted) -> None:
        self.page.tell(self.tr("Freed {size}.").format(size=numbers.size(deleted.freed_bytes)))
        self.refresh()

    def _choose_folder(self) -> None:
        chosen = QFileDialog.getExistingDirectory(self, self.tr("Choose a folder for models"))
        if chosen:
            change = Change("serve.models_folder", chosen)
            self.page.ask(settings.SET, SetParams((change,)), lambda _: self._chosen(chosen))

    def _chosen(self, folder: str) -> None:
        said = self.tr("Models go to {folder} from now on. Move those you have there yourself.")
        self.page.tell(said.format(folder=folder))
        self.refresh()


def described(served: Served | None) -> list[str]:
    """Return lines about how the layers here are computed, and where their weights are, as far as that is known."""
    if served is None or not served.dtype:
        return []
    how = tr("Computed on {device}, {dtype}").format(device=engine.device(served.device), dtype=served.dtype)
    held = tr("weights in {format}").format(format=served.quantization)
    lines = [how if served.quantization in ("", "none") else f"{how}, {held}"]
    if served.device_bytes:
        stay = tr("{size} of weights in device memory").format(size=numbers.size(served.device_bytes))
        flow = tr("{size} loaded for each step").format(size=numbers.size(served.streamed_bytes))
        experts = tr("{size} of experts in RAM").format(size=numbers.size(served.ram_bytes))
        shown = (stay, *((experts,) if served.ram_bytes else ()), *((flow,) if served.streamed_blocks else ()))
        lines.append(", ".join(shown))
    return lines


def _still(found: Models) -> tuple[object, ...]:
    """Return what is drawn anew when it changes; a download, which grows all the time, is not in it."""
    folder = found.folder
    disk = (folder.path, folder.models_bytes >> 20, folder.prepared_bytes >> 20, folder.free_bytes >> 28)
    return disk, found.stored
