import pytest
from helpers.client_world import local_model
from helpers.family_fixtures import family_folder
from transformers import PreTrainedModel

from potluck.client.session import hop
from potluck.routing.experience import Pace

__all__ = ["family_folder"]


@pytest.fixture(scope="session")
def local() -> PreTrainedModel:
    """The same checkpoint, whole."""
    return local_model()


@pytest.fixture(autouse=True)
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave no server because this machine is busy; files about slow servers replace this fixture by their own."""
    monkeypatch.setattr(hop, "opening_silence_s", lambda *_: 600.0)
    monkeypatch.setattr(Pace, "patience", lambda pace, most: most)
    monkeypatch.setattr(Pace, "is_due", lambda pace, now: False)
