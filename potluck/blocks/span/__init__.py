"""Runs consecutive blocks of a model: loads them, tries them, plans their steps and runs these.

`load_span` returns a `BlockSpan`. Its trial finds out whether rows of many sessions can share a step. If so, a step is
planned in plain numbers and run by `RaggedRunner`; if not, each session runs alone in the family's own loop, which is
always correct. Spans may be split over several devices (`ranks.py`), and grow or shrink while they serve
(`reshaping.py`). The choices of experts are noted in every step, so that audits can repeat them.
"""
