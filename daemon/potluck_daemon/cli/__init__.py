"""The module names by which version 0.1.0 starts a newer version: its updater and its open app know no others."""
