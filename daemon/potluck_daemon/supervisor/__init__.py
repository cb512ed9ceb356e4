"""Starts, watches, restarts and stops the engine and the gateway."""
