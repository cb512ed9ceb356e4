"""Checks this machine for what prevents serving, and says what to do about it.

A check is a question, a function that measures and a pure judge; the table in `checks` has them all. `Scene` is what
all of them start from, read once. The package knows the daemon's parts only by their files and the daemon by its
status, so it also works while no daemon runs. A check that raises becomes a finding and hides no other. `bundle` packs
the findings with logs and settings for somebody who helps, without anything private.
"""
