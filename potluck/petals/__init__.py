"""The adapter for peers that run Petals; see `adapter.py`. Only open swarms load it, through `potluck.foreign`."""
