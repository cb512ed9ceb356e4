"""Checks of this machine: each finds what prevents serving, and says what to do about it."""
