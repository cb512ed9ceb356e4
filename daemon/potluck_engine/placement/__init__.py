"""Decides which blocks a server should hold, so that the swarm serves the most. Pure: numpy and protocol types.

Every server decides for itself from the same directory, and finds the same plan. `SwarmMap` is what the directory says,
with claims bounded by what others measured; `price` says what a place is worth, `plan` moves several servers together,
and `choose` decides. The simulator in `benchmarks/` runs the same functions for thousands of servers.
"""
