"""Models: a picker of those that a swarm could have, and a card of those on this computer."""

from __future__ import annotations

from functools import partial
from typing import TypeVar

from potluck_control.api.method import Method
from potluck_control.methods import models, settings
from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFileDialog, QWidget

from potluck.errors import PotluckError
from potluck_app.pages.calls import DaemonCaller
from potluck_app.pages.page import Page, PageSection
from potluck_app.widgets.button import Button
from potluck_app.widgets.controls import text_field
from potluck_app.widgets.dialogs import ConfirmDialog
from potluck_app.widgets.parts import Card, PollTimer, caption, column, row, text
from potluck_app.widgets.row import Row, RowList
from potluck_app.words import engine, formats, sentences
from potluck_app.words.language import tr

P = TypeVar("P")
_POLL_MS = 2000


class ModelPicker(QWidget):
    """A list of models on this computer, in a folder, or on Hugging Face.

    Signal: `chosen(str, str)` with the model as the daemon calls it, and its name.
    """

    chosen = Signal(str, str)

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__()
        self._link = link
        self._num_searches = 0  # only the answer to the last search is shown
        self._words = text_field(self.tr("Name of a model on Hugging Face"), max_chars=200)
        self._search_button = Button(self.tr("Search"), act=self._search)
        self._words.setClearButtonEnabled(True)
        self._words.returnPressed.connect(self._search)
        folder = Button(self.tr("Look in a folder…"), "folder", act=self._choose_folder)
        self._message, self._problem, self._list = caption(), text(colour="error"), RowList()
        items = (
            row((self._words, 1), self._search_button),
            row(folder, None),
            self._message,
            self._problem,
            self._list,
        )
        self.setLayout(column(Card(self.tr("Models to choose from"), *items)))
        self.setFocusProxy(self._words)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 (Qt's name)
        super().showEvent(event)
        if not self._num_searches:
            self._search()

    def _search(self) -> None:
        words = self._words.text().strip().lstrip("-")
        if words:
            self._call(models.SEARCH, models.SearchParams(words), self.tr("Searching Hugging Face…"))
        else:
            self._call(models.ON_DISK, models.FolderParams(), self.tr("Looking on this computer…"))

    def _choose_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, self.tr("Choose a folder with a model"))
        if folder:
            self._call(models.ON_DISK, models.FolderParams(folder), self.tr("Looking on this computer…"))

    def _call(self, method: Method[P, models.ModelChoices], params: P, meanwhile: str) -> None:
        self._num_searches += 1
        asked = self._num_searches
        self._say(meanwhile)

        def done(found: models.ModelChoices) -> None:
            if asked == self._num_searches:
                self._show(found)

        def failed(error: PotluckError) -> None:
            if asked == self._num_searches:
                self._say(problem=sentences.failure(error))

        self._link.call(method, params, done=done, failed=failed)

    def _say(self, message: str = "", problem: str = "") -> None:
        self._message.say(message)
        self._problem.say(problem)

    def _show(self, found: models.ModelChoices) -> None:
        lends = self.tr("This computer now lends a model {size}. That decides how many friends a model needs.")
        nothing = self.tr("No model has such a name.")
        self._say(lends.format(size=formats.size(found.lent_bytes)) if found.models else nothing)
        self._list.show_rows(found.models, lambda: map(self._row, found.models))

    def _row(self, choice: models.ModelChoice) -> Row:
        about = self.tr("Choose {model}").format(model=choice.name)
        choose = partial(self.chosen.emit, choice.model, choice.name)
        return Row(choice.name, describe_choice(choice), Button(self.tr("Choose"), act=choose, about=about))


def describe_choice(choice: models.ModelChoice) -> str:
    """Return a model's size and licence, whether it is here, and how many computers like this one it needs."""
    size = formats.size(choice.bytes) if choice.bytes else tr("size unknown")
    unknown = "" if choice.is_here else tr("licence unknown")
    licence = tr("licence {name}").format(name=choice.licence) if choice.licence else unknown
    place = tr("on this computer") if choice.is_here else tr("to be downloaded")
    gated = tr("its owner must grant you access") if choice.is_gated else ""
    return "\n".join(
        filter(None, (describe_fit(choice.num_computers), " · ".join(filter(None, (size, licence, place, gated)))))
    )


def describe_fit(num_computers: int) -> str:
    """Return how many people with such a computer hold a model together, or "" if nobody knows."""
    if not num_computers:
        return ""
    if num_computers == 1:
        return tr("Fits on this computer")
    return tr("Fits with %n friend(s) like you", "", num_computers - 1)


class ModelsCard(PageSection):
    """The computing of the served model, and the models on the disk. It asks again while a model is loaded."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._served, self._stored = text(), RowList()
        self._poll = PollTimer(self, self.refresh)
        self.fill(Card(self.tr("Computed here"), self._served), Card(self.tr("On the disk"), self._stored))

    def refresh(self) -> None:
        self.page.call(models.LIST, None, self._show)

    def _show(self, found: models.Models) -> None:
        is_loading = found.served is not None and found.served.loading is not None
        self._poll.run_while(is_loading, _POLL_MS)
        self._served.setText("\n".join(describe_served(found.served)) or self.tr("Nothing is served now."))
        self._stored.show_rows(_still(found), lambda: self._rows(found))

    def _rows(self, found: models.Models) -> list[QWidget]:
        rows: list[QWidget] = [self._folder_row(found.folder), *map(self._stored_row, found.stored)]
        if found.folder.prepared_bytes:
            about = self.tr("Delete prepared layers")
            delete = Button(self.tr("Delete"), "trash", "quiet", lambda: self._delete(""), about=about)
            message = self.tr("{size}. Potluck makes them again when needed.")
            size = formats.size(found.folder.prepared_bytes)
            rows.append(Row(self.tr("Layers prepared for this computer"), message.format(size=size), delete))
        return rows

    def _folder_row(self, folder: models.ModelsFolder) -> Row:
        used = formats.size(folder.models_bytes + folder.prepared_bytes)
        message = self.tr("{used} used, {free} free").format(used=used, free=formats.size(folder.free_bytes))
        about = self.tr("Choose a folder for models")
        return Row(folder.path, message, Button(self.tr("Choose…"), "folder", act=self._choose_folder, about=about))

    def _stored_row(self, model: models.StoredModel) -> Row:
        parts = [formats.size(model.bytes)]
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

    def _ask_delete(self, model: models.StoredModel) -> None:
        """Ask before deleting, for another download may take hours."""
        message = self.tr("Frees {size}. Potluck downloads the model again when it needs it.")
        message = message.format(size=formats.size(model.bytes))
        asked, delete = self.tr("Delete {model}?").format(model=model.name), self.tr("Delete")
        ConfirmDialog(self, asked, message, delete, lambda: self._delete(model.name, force=bool(model.swarms))).open()

    def _delete(self, name: str, *, force: bool = False) -> None:
        self.page.call(models.DELETE, models.DeleteParams(name, force), self._deleted)

    def _deleted(self, deleted: models.Deleted) -> None:
        self.page.announce(self.tr("Freed {size}.").format(size=formats.size(deleted.freed_bytes)))
        self.refresh()

    def _choose_folder(self) -> None:
        chosen = QFileDialog.getExistingDirectory(self, self.tr("Choose a folder for models"))
        if chosen:
            change = settings.Change("serve.models_folder", chosen)
            self.page.call(settings.SET, settings.SetParams((change,)), lambda _: self._chosen(chosen))

    def _chosen(self, folder: str) -> None:
        message = self.tr("Models go to {folder} from now on. Move those you have there yourself.")
        self.page.announce(message.format(folder=folder))
        self.refresh()


def describe_served(served: models.Served | None) -> list[str]:
    """Return lines about how the layers here are computed, and where their weights are, as far as that is known."""
    if served is None or not served.dtype:
        return []
    how = tr("Computed on {device}, {dtype}").format(device=engine.device(served.device), dtype=served.dtype)
    held = tr("weights in {format}").format(format=served.quantization)
    lines = [how if served.quantization in ("", "none") else f"{how}, {held}"]
    if served.device_bytes:
        stay = tr("{size} of weights in device memory").format(size=formats.size(served.device_bytes))
        flow = tr("{size} loaded for each step").format(size=formats.size(served.streamed_bytes))
        experts = tr("{size} of experts in RAM").format(size=formats.size(served.ram_bytes))
        shown = (stay, *((experts,) if served.ram_bytes else ()), *((flow,) if served.streamed_blocks else ()))
        lines.append(", ".join(shown))
    return lines


def _still(found: models.Models) -> tuple[object, ...]:
    """Return what redraws the rows when it changes, without a download, which grows all the time."""
    folder = found.folder
    disk = (folder.path, folder.models_bytes >> 20, folder.prepared_bytes >> 20, folder.free_bytes >> 28)
    return disk, found.stored
