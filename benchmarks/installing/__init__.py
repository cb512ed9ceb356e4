"""Installing, updating and removing

In fresh Debians (`tests/helpers/installing.py`), as the tests of the packages do it; most of it needs root.
"""
