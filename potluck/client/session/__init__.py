"""Runs one sequence, or rows of equal length, through a chain of servers, and survives the loss of any of them.

A session keeps the inputs of each of its servers (`history.py`), and each server gets whatever it lacks (`hop.py`). So
another server can take over at any time, and the outputs stay the same. Servers push outputs to each other where they
can (`ring.py`), long steps go in pieces (`pieces.py`), and drafted tokens fly (`flight.py`). Understudies make a change
of servers short. The package knows nothing of tokens or texts: it moves hidden states.
"""
