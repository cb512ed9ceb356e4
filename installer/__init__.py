"""Builds the packages that people install, a module or folder for each target. No product logic."""
