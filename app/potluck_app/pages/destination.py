"""Places in the window that something elsewhere leads to. Without Qt, for what starts before any page."""

from __future__ import annotations

from enum import Enum


class Destination(Enum):
    """A part of a page that something elsewhere leads to. The value is the page's key and the part's name."""

    CHAT = "chat", ""
    INVITE = "swarm", "invite"
    JOIN = "swarm", "join"
    NEVER = "home", "never"
    RULES = "rules", ""
    DIAGNOSTICS = "settings", "diagnostics"
    INSTALLATION = "settings", "installation"
    BACKUP = "settings", "backup"
