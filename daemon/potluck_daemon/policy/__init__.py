"""Decides what the engine should do and how to explain it, from plain data. Nothing here does I/O or reads a clock.

`decide` is the one function that chooses a state and an order from `Inputs`; `hours_and_caps` turns limits and
schedules into obstacles, `questions` chooses what to ask the user. The package knows neither processes nor probes: the
loop gathers the inputs and has the order carried out. The same inputs at the same time give the same decision, so the
simulator and the tests run what production runs. The user's own word comes first, then the machine's safety, then
politeness towards whoever uses the computer.
"""
