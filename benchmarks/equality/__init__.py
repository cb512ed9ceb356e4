"""The same numbers as the local model, and servers that return others."""
