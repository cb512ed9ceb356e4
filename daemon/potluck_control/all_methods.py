"""Every method of the control API by its name. Clients import only the topics that they use, which takes less time."""

from __future__ import annotations

from typing import Any

from potluck_control import schema
from potluck_control.method import Method
from potluck_control.methods import (
    activity,
    computers,
    contribution,
    earnings,
    gateway,
    health,
    machine,
    members,
    models,
    programs,
    settings,
    setup,
    swarms,
    updates,
)

_TOPICS = (
    schema,
    settings,
    programs,
    swarms,
    health,
    machine,
    activity,
    contribution,
    members,
    computers,
    models,
    gateway,
    setup,
    updates,
    earnings,
)
METHODS: dict[str, Method[Any, Any]] = {
    item.name: item for topic in _TOPICS for item in vars(topic).values() if isinstance(item, Method)
}
