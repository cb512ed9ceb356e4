"""Run `potluck_cli.main` under the name that version 0.1.0 knows."""

from __future__ import annotations

from potluck_cli.main import main, program

__all__ = ["main", "program"]

if __name__ == "__main__":
    program()
