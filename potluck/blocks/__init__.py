"""Runs the layers of any family: consecutive blocks of a model, loaded, tried and shared by many sessions.

`span` runs steps and forwards, `cache` holds keys and values in pages, `kernels` multiply and attend, `formats` hold
matrices in fewer bits, and `streaming` decides where weights live and moves them. LoRA adapters find their places in
the layers (`adapters.py`), and devices differ in one place (`accelerators.py`).

The package knows nothing of networks, peers or scheduling: an engine decides which rows share a step. Nothing is
decided by a family's name. A trial at loading compares every faster way with the family's own code, and what differs
is not used. Modules that import triton are imported only where it was found.
"""
