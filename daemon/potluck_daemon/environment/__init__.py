"""The engine's environment: torch and all, made on this machine for the hardware that is found."""
