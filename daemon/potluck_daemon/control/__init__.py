"""The server of the control API."""
