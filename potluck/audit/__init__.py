"""Decides whether servers returned wrong results, by comparing what several of them computed from the same inputs.

It chooses which windows are audited and by whom, learns how far honest results differ, and names the server that stands
alone. It is pure: no clock, no network and no model. `potluck.client` and the engine fetch the windows and act on the
verdicts. A client relies on its own audits only, because a ring could make up what others say.
"""
