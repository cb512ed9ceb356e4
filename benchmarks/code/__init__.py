"""The code

Counted in the source, or traced while it runs.
"""
