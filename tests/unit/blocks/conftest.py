from __future__ import annotations

from helpers.family_fixtures import family_folder, one_quiet_thread

__all__ = ["family_folder", "one_quiet_thread"]
