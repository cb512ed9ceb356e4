"""Odd computers, and a person's day on each of them: the parts of `rough_places`.

`home.py` runs real commands and judges them; the other modules make the computers, each in namespaces of its own.
"""
