"""The page Models: what is served and where its weights are, what the swarm lacks, downloads, and what lies on the disk."""

from __future__ import annotations

from potluck_daemon.control.methods import models
from potluck_daemon.control.methods.models import Deleted, DeleteParams, Models, MoveParams, Served, StoredModel
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QMessageBox, QProgressBar, QVBoxLayout, QWidget

from potluck_app import words
from potluck_app.button import Button
from potluck_app.card import card, line, text
from potluck_app.page import Link, Page
from potluck_app.placeholder import Placeholder
from potluck_app.row import Row
from potluck_app.theme import Type

_PROGRESS_STEPS = 1000
_NEEDS_SHOWN = 6


class ModelsPage(Page):
    """Asks again while somebody looks: downloads go on."""

    AGAIN_MS = 2000

    def __init__(self, link: Link) -> None:
        super().__init__(link, self.tr("Models"))
        self._shown: Models | None = None
        self._served, self._served_column = card(self.tr("Served here"))
        self._needed, self._needed_column = card(self.tr("What the swarm needs"))
        self._stored, self._stored_column = card(self.tr("On the disk"))
        self._bar, self._bar_text = QProgressBar(), text("muted", kind=Type.CAPTION)
        self._folder = QWidget()
        self._bar.setRange(0, _PROGRESS_STEPS)
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName(self.tr("Progress of the download"))
        self._parts: list[QWidget] = []
        for frame in (self._served, self._needed, self._stored):
            self.column.addWidget(frame)

    def refresh(self) -> None:
        self.ask(models.LIST, None, self._show)

    def _show(self, found: Models) -> None:
        self._show_progress(found)
        if self._shown is not None and _still(found) == _still(self._shown):
            return
        self._shown = found
        for part in self._parts:
            part.setParent(None)
        self._parts = []
        self._show_served(found.served)
        self._show_needs(found)
        self._show_stored(found)

    def _put(self, column: QVBoxLayout, part: QWidget) -> None:
        column.addWidget(part)
        self._parts.append(part)

    def _show_served(self, served: Served | None) -> None:
        if served is None:
            said = self.tr("Join a swarm, and this computer takes the blocks that it lacks most.")
            self._put(self._served_column, Placeholder("models", self.tr("Nothing is served"), said))
            return
        column = self._served_column
        self._put(column, text(kind=Type.FIGURE, said=served.model))
        for said in self._lines(served):
            self._put(column, text("muted", said=said))
        for widget in (self._bar, self._bar_text):
            column.addWidget(widget)

    def _lines(self, served: Served) -> list[str]:
        swarm = self.tr("In the swarm {swarm}, {blocks} blocks in all").format(
            swarm=served.swarm, blocks=served.num_blocks
        )
        if served.span is None:
            return [swarm, self.tr("Which blocks are served here is not chosen yet.")]
        start, end = served.span
        here = self.tr("Blocks {start} to {end} here, {count} of them").format(
            start=start, end=end - 1, count=end - start
        )
        how = self.tr("Computed in {dtype} on {device}").format(dtype=served.dtype, device=served.device)
        if served.quantization not in ("", "none"):
            how += self.tr(", weights held in {format}").format(format=served.quantization)
        lines = [swarm, here, how] if served.dtype else [swarm, here]
        if served.device_bytes:
            where = self.tr("{size} of weights stay on the device").format(size=words.size(served.device_bytes))
            if served.streamed_blocks:
                where += self.tr(", {size} are streamed in each pass").format(size=words.size(served.streamed_bytes))
            lines.append(where)
        return lines

    def _show_progress(self, found: Models) -> None:
        served = found.served
        progress = found.download or (served.loading if served is not None else None)
        is_busy = progress is not None and served is not None
        self._bar.setVisible(is_busy)
        self._bar_text.setVisible(is_busy)
        if progress is None:
            return
        done, total = progress.done_bytes, progress.total_bytes
        self._bar.setValue(round(_PROGRESS_STEPS * done / total) if total else 0)
        said = self.tr("{done} of {total}").format(done=words.size(done), total=words.size(total) if total else "?")
        if progress.bytes_per_s:
            said += self.tr(", {speed} in a second").format(speed=words.size(round(progress.bytes_per_s)))
        self._bar_text.setText(
            (self.tr("Downloading: {progress}") if found.download else self.tr("Loading: {progress}")).format(
                progress=said
            )
        )

    def _show_needs(self, found: Models) -> None:
        self._needed.setVisible(found.served is not None)
        if not found.needs:
            self._put(self._needed_column, text("muted", said=self.tr("Not known yet.")))
            return
        for need in found.needs[:_NEEDS_SHOWN]:
            blocks = self.tr("Blocks {start} to {end}").format(start=need.start, end=need.end - 1)
            servers = self.tr("%n server(s)", "", need.replicas) if need.replicas else self.tr("nobody")
            row = QWidget()
            line_up = QHBoxLayout(row)
            line_up.setContentsMargins(0, 0, 0, 0)
            line_up.addWidget(text(said=blocks), 1)
            line_up.addWidget(text("" if need.replicas else "error", kind=Type.STRONG, said=servers))
            row.setAccessibleName(f"{blocks}: {servers}")
            self._put(self._needed_column, row)

    def _show_stored(self, found: Models) -> None:
        column, folder = self._stored_column, found.folder
        free = self.tr("{used} used, {free} free").format(
            used=words.size(folder.models_bytes + folder.prepared_bytes), free=words.size(folder.free_bytes)
        )
        choose = Button(self.tr("Move…"), "folder")
        choose.clicked.connect(self._choose_folder)
        self._put(column, Row(folder.path, free, choose))
        for model in found.stored:
            self._put(column, line())
            self._put(column, self._stored_row(model))
        if folder.prepared_bytes:
            delete = Button(self.tr("Delete"), "trash", "quiet")
            delete.clicked.connect(lambda: self._delete(""))
            said = self.tr("{size}; made anew when they are needed").format(size=words.size(folder.prepared_bytes))
            self._put(column, line())
            self._put(column, Row(self.tr("Blocks prepared for this computer"), said, delete))
        if found.move is not None and not found.move.is_done:
            self._put(column, text("error" if found.move.problem else "muted", said=self._moving(found)))

    def _moving(self, found: Models) -> str:
        assert found.move is not None
        if found.move.problem:
            return found.move.problem
        progress = found.move.progress
        return self.tr("Moving to {folder}: {done} of {total}").format(
            folder=found.move.target, done=words.size(progress.done_bytes), total=words.size(progress.total_bytes)
        )

    def _stored_row(self, model: StoredModel) -> Row:
        said = words.size(model.bytes)
        if model.is_served:
            said += " · " + self.tr("served now")
        elif model.swarms:
            said += " · " + self.tr("used by {swarms}").format(swarms=", ".join(model.swarms))
        if model.partial_bytes:
            said += " · " + self.tr("not complete")
        delete = Button(self.tr("Delete"), "trash", "quiet")
        delete.setEnabled(not model.is_served)
        delete.setAccessibleName(self.tr("Delete {model}").format(model=model.name))
        delete.clicked.connect(lambda _=False, model=model: self._ask_delete(model))
        return Row(model.name, said, delete)

    def _ask_delete(self, model: StoredModel) -> None:
        """Asked back once: fetching it again may take hours."""
        box = QMessageBox(self)
        box.setIcon(QMessageBox.Icon.Question)
        box.setText(self.tr("Delete {model}?").format(model=model.name))
        box.setInformativeText(
            self.tr("{size} are freed. If it is needed again, it is downloaded again.").format(
                size=words.size(model.bytes)
            )
        )
        delete = box.addButton(self.tr("Delete"), QMessageBox.ButtonRole.DestructiveRole)
        box.addButton(self.tr("Cancel"), QMessageBox.ButtonRole.RejectRole)
        box.finished.connect(
            lambda: self._delete(model.name, force=bool(model.swarms)) if box.clickedButton() is delete else None
        )
        box.open()

    def _delete(self, name: str, *, force: bool = False) -> None:
        self.ask(models.DELETE, DeleteParams(name, force), self._deleted)

    def _deleted(self, deleted: Deleted) -> None:
        self.tell(self.tr("{size} freed.").format(size=words.size(deleted.freed_bytes)))
        self.refresh()

    def _choose_folder(self) -> None:
        chosen = QFileDialog.getExistingDirectory(self, self.tr("Where shall models lie?"))
        if chosen:
            self.ask(models.MOVE, MoveParams(chosen), self._show)


def _still(found: Models) -> tuple[object, ...]:
    """What is drawn anew only when it changes; progress moves all the time."""
    served = found.served
    shown = (served.model, served.swarm, served.span, served.dtype, served.device_bytes) if served is not None else None
    folder = found.folder
    return (
        shown,
        found.needs,
        folder.path,
        folder.models_bytes >> 20,
        folder.free_bytes >> 28,
        found.stored,
        found.move,
    )
