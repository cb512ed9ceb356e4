"""Newer versions of Potluck: what is offered, and how one takes the place of another."""
