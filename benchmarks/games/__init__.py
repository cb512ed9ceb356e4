"""Giving the computer back

The real probes watch real desktops on a virtual screen; scripted situations stand for what no test machine has.
"""
