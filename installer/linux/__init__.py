"""Debian packages, and an installer for every other Linux."""
