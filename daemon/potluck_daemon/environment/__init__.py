"""The engine's environment: torch and the rest, installed on this machine for its hardware."""
