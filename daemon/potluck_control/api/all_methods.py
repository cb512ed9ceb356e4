"""Every method of the control API by its name. Clients import only the topics that they use, which takes less time."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from potluck_control import methods
from potluck_control.api import schema
from potluck_control.api.method import Method

_TOPICS = (schema, *(import_module(f"{methods.__name__}.{topic.name}") for topic in iter_modules(methods.__path__)))
METHODS: dict[str, Method[Any, Any]] = {
    item.name: item for topic in _TOPICS for item in vars(topic).values() if isinstance(item, Method)
}
