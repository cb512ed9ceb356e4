"""Computation: what runs next on the device, and how it runs.

`StepScheduler` decides, as a pure function of its state, which rows share the next step. `StepLoop` gets memory for
steps, runs them through `SpanExecutor`, and delivers all finished steps together. Stateless calls run in bounded pieces
from a second thread with the lowest priority.

A step of all sessions gives each row the numbers that it would get alone, within the rounding of the number format.
Work is cut into pieces so that a game never waits for more than one of them. An error ends only the steps that cannot
be computed alone; a lost device ends the process.
"""
