"""Decides where the weights of a span live, and moves them: on the device, in RAM or on disk.

`placement.py` decides from sizes alone. Streamed blocks pass through slots of the device's memory, the next one while
the current one computes (`slots.py`); experts may be computed in RAM (`split_experts.py`). `SpanWeights` frees a span's
memory at once and restores it later. Files are checked whenever they are read.
"""
