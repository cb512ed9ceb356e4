"""Checks of this machine: what stands in the way of serving, and what to do about it. One check a file."""
