"""Checks this machine for what prevents serving, and says what to do about it."""
