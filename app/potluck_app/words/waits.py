"""What the app says while it waits for the daemon: what happens, and about how long it takes."""

from __future__ import annotations

from potluck_app.words.language import QT_TRANSLATE_NOOP, tr

_QUESTIONS = {  # by method, with the seconds that the answer took over home lines, rounded up
    "members.list": (QT_TRANSLATE_NOOP("", "Asking who is in the swarm…"), 5),
    "swarms.contact": (QT_TRANSLATE_NOOP("", "Finding out how others can reach this computer…"), 10),
    "machine.get": (QT_TRANSLATE_NOOP("", "Looking at this computer…"), 5),
    "setup.state": (QT_TRANSLATE_NOOP("", "Looking at this computer…"), 5),
}
_COMMANDS = {
    "create": (QT_TRANSLATE_NOOP("", "Starting the swarm…"), 20),
    "join": (QT_TRANSLATE_NOOP("", "Joining the swarm…"), 15),
    "swarms.choose_model": (QT_TRANSLATE_NOOP("", "Asking the others about the other model…"), 10),
    "models.search": (QT_TRANSLATE_NOOP("", "Searching for models…"), 5),
    "models.on_disk": (QT_TRANSLATE_NOOP("", "Looking for models on this computer…"), 5),
    "models.delete": (QT_TRANSLATE_NOOP("", "Deleting the files…"), 5),
    "doctor.run": (QT_TRANSLATE_NOOP("", "Checking this computer…"), 10),
    "diag.export": (QT_TRANSLATE_NOOP("", "Writing the report…"), 10),
    "computers.back_up": (QT_TRANSLATE_NOOP("", "Encrypting your keys…"), 5),
    "computers.restore": (QT_TRANSLATE_NOOP("", "Reading the backup…"), 5),
    "updates.check": (QT_TRANSLATE_NOOP("", "Looking for a newer version…"), 5),
    "gateway.start": (QT_TRANSLATE_NOOP("", "Starting the address for other programs…"), 10),
}


def is_command(method: str) -> bool:
    """Tell whether only people call a method, unlike a question that a page repeats by itself."""
    return method in _COMMANDS


def waiting(method: str, passed_s: float) -> str:
    """Return what a call of `method` waits for. `passed_s`: since it began."""
    what, usual_s = (_COMMANDS | _QUESTIONS).get(method, (QT_TRANSLATE_NOOP("", "Waiting for Potluck…"), 0))
    if passed_s <= usual_s:
        far, seconds = tr("This takes about {seconds} s."), usual_s
    else:
        far, seconds = tr("{seconds} s so far."), int(passed_s)
    return f"{tr(what)} {far.format(seconds=seconds)}"
