"""Runs blocks of a model: spans, KV memory, steps of many sessions, and weights on the device, in RAM or on disk.

This package knows nothing of networks, sessions or scheduling.
"""
