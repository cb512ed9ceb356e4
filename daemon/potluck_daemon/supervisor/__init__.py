"""Starts, watches, restarts and stops the engine process."""
