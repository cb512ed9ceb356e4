"""Probes that find out whether somebody plays or uses the machine. The policy decides what follows from it."""
