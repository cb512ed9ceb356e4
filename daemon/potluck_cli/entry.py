"""Begins the command `potluck`: from its first line on, Ctrl-C ends the process without a traceback.

Python prints one for an interrupted import, and imports take most of a command's first 0.2 s. Only the interpreter's
own start comes before this.
"""

import _signal  # type: ignore[import-not-found]  # `signal` imports enum, which takes as long as Python's own start


def program() -> None:
    """Run the installed command and end the process."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:  # not where a script runs it with `&`
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    from potluck_cli.main import program

    program()


if __name__ == "__main__":
    program()
