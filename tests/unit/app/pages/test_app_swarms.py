"""The page Swarm: the user's own swarms, another model for one, and the models on this computer."""

import pytest
from helpers import app_answers
from helpers.fake_link import FakeLink
from helpers.screen import buttons, chosen_from, confirm, opened, press, shown
from msgspec import structs
from potluck_app.pages.swarm.models import ModelPicker, describe_choice
from potluck_app.pages.swarm.page import SwarmPage
from potluck_app.widgets.dialogs import ConfirmDialog
from potluck_control.methods.members import MembersList, RecoveryCode
from potluck_control.methods.models import (
    DeleteParams,
    ModelChoice,
    ModelChoices,
    Models,
    ModelsFolder,
    Progress,
    SearchParams,
    Served,
    StoredModel,
)
from potluck_control.methods.settings import Change, SetParams
from potluck_control.methods.swarms import ChooseModelParams, JoinedSwarm, LeaveParams, ModelChange, Swarms
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from potluck.errors import PotluckError
from potluck.sentences import sentence

FOLDER = ModelsFolder("/x/hub", True, 5 << 30, 0, 9 << 30, 0)
SERVED = Served("a/llama", "friday", 80, (0, 10), "bfloat16", "int4", "cuda:0", device_bytes=3 << 30)
STORED = StoredModel("a/other", 5 << 30, True, ("saturday",), False)
LOADING = structs.replace(SERVED, loading=Progress(1 << 30, 4 << 30, 1 << 20))
MODELS = Models(LOADING, FOLDER, (STORED,))


def test_models_show_how_the_served_one_is_computed_and_what_is_on_the_disk() -> None:
    page, _ = opened(SwarmPage, {"models.list": MODELS})
    texts = shown(page)
    assert "Computed on graphics card 1, bfloat16, weights in int4\n3.2 GB of weights in device memory" in texts
    assert "5.4 GB · used by saturday · incomplete" in texts
    page.show_status(structs.replace(app_answers.SERVING, loading=Progress(1 << 30, 4 << 30, 1 << 20)))
    texts = shown(page)
    assert texts.index("1.1 GB of 4.3 GB") == texts.index("Downloading…") + 1


def test_a_model_is_deleted_after_a_question() -> None:
    page, link = opened(SwarmPage, {"models.list": MODELS})
    press(page, "Delete a/other")
    assert link.named("models.delete") == []
    confirm(page, "Delete")
    assert link.named("models.delete") == [DeleteParams("a/other", force=True)]


FOUNDED: MembersList = app_answers.ANSWERS["members.list"]  # type: ignore[assignment]


def test_another_swarm_is_served_and_one_is_left_after_a_question() -> None:
    friday, sunday = JoinedSwarm("friday", "a/llama", 80, False, True), JoinedSwarm("sunday", "demo", 12, True, False)
    page, link = opened(SwarmPage, {"models.list": MODELS, "swarms.list": Swarms((friday, sunday))})
    assert {"llama · 80 layers · chosen for this computer", "demo · 12 layers · open to all"} <= set(shown(page))
    press(page, "Serve sunday")
    assert link.named("settings.set") == [SetParams((Change("serve.swarm", "sunday"),))]
    for people, lost in (
        (structs.replace(FOUNDED, is_founder=False), ""),
        (FOUNDED, "Write down its recovery code, without which nobody can ever appoint admins again: ABCD-EFGH"),
        (
            structs.replace(FOUNDED, members=FOUNDED.members[:2]),
            "It has no admin, so nobody can invite, confirm or remove people either.",
        ),
    ):
        chosen_from(page, "Change friday")["Leave…"].trigger()
        link.answer("members.list", people)
        if people.is_founder:
            link.answer("members.recovery_code", RecoveryCode("ABCD-EFGH", "friday"))
        asked = page.findChildren(ConfirmDialog)[-1].informativeText()
        assert lost in asked
        assert ("founder" in asked) is bool(lost)
    assert link.named("swarms.leave") == []
    confirm(page, "Leave")
    assert link.named("swarms.leave") == [LeaveParams("friday", is_sure=True)]


def test_a_model_says_its_size_its_licence_and_how_many_friends_it_needs() -> None:
    for model, lines in (
        (
            ModelChoice("a/llama", "a/llama", 140 << 30, "llama3", 12, is_here=False, is_gated=True),
            "Fits with 11 friends like you\n150 GB · licence llama3 · to be downloaded",
        ),
        (
            ModelChoice("", "demo", 12_000_000, "", 1, is_here=True),
            "Fits on this computer\n12 MB · on this computer",
        ),
        (ModelChoice("/x", "x", 0, "", 0, is_here=False), "size unknown · licence unknown · to be downloaded"),
        (ModelChoice("/x", "x", 0, "mit", 2, is_here=True), "Fits with 1 friend like you\nsize unknown · licence mit"),
    ):
        assert describe_choice(model).startswith(lines)


@pytest.fixture
def picking(qtbot: QtBot) -> tuple[SwarmPage, FakeLink]:
    """The page Swarm of two swarms, one of them the user's own, with its picker open."""
    friday = JoinedSwarm("friday", "a/llama", 80, False, True, may_lead=True, draft="a/small-llama")
    sunday = JoinedSwarm("sunday", "demo", 12, False, False)
    page, link = opened(SwarmPage, {"models.list": MODELS, "swarms.list": Swarms((friday, sunday))})
    qtbot.addWidget(page)
    page.show()
    assert "llama · 80 layers · sped up by small-llama · chosen for this computer" in shown(page)
    assert [*chosen_from(page, "Change sunday")] == ["Leave…"]
    chosen_from(page, "Change friday")["Change the model…"].trigger()
    return page, link


def test_a_leader_gives_a_swarm_another_model_after_a_question(picking: tuple[SwarmPage, FakeLink]) -> None:
    page, link = picking
    link.answer("models.on_disk", ModelChoices((ModelChoice("/x/new", "new", 9, "mit", 2, is_here=True),), 10))
    press(page, "Choose new")
    assert link.named("swarms.choose_model") == []
    confirm(page, "Change the model")
    assert link.named("swarms.choose_model") == [ChooseModelParams("/x/new", "friday")]
    link.answer("swarms.choose_model", ModelChange("friday", "new", is_done=False))
    assert "Reading the files of new…" in shown(page)
    page.refresh()
    link.answer("swarms.model_change", ModelChange("friday", "new", problem=sentence("cannot reach the hub")))
    assert "friday keeps its model. Cannot reach the hub." in shown(page)
    press(page, "Choose new")
    link.answers["swarms.choose_model"] = ModelChange("friday", "new")
    confirm(page, "Change the model")
    assert "friday serves new now. Members that are online follow within seconds." in shown(page)
    assert "Choose new" not in buttons(page)


def test_the_hub_is_searched_with_enter_and_its_silence_is_explained(picking: tuple[SwarmPage, FakeLink]) -> None:
    page, link = picking
    words = page.findChild(ModelPicker).findChild(QLineEdit)
    words.setText("llama")
    words.returnPressed.emit()
    assert link.named("models.search") == [SearchParams("llama")]
    link.answer("models.on_disk", ModelChoices((ModelChoice("", "demo", 9, "", 1, is_here=True),), 10))  # it was slower
    assert "Searching Hugging Face…" in shown(page)
    hint = "check this computer's network, or choose a model on this computer"
    link.fail("models.search", PotluckError("cannot reach the hub: the address of the proxy cannot be read", hint=hint))
    said = (
        "Cannot reach the hub: the address of the proxy cannot be read. "
        "Check this computer's network, or choose a model on this computer."
    )
    assert said in shown(page)
    words.clear()
    press(page.findChild(ModelPicker), "Search")
    link.answer("models.on_disk", ModelChoices((), 10))
    assert "No model has such a name." in shown(page)
    assert said not in shown(page)
