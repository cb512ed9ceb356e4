"""The network

Swarms on loopback, or on an internet that `tests/helpers/internet.py` emulates in network namespaces, which needs root.
"""
