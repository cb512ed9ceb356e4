"""Odd computers, and a person's day on each of them: the parts of `rough_places`."""
