"""Drafts the next tokens of texts and checks them with the model, so that several tokens take one round trip.

Drafts come from what followed the same tokens earlier, from a small model, or from a block that the checkpoint has for
it (`drafter.py`). What earlier drafts brought decides how many are sent (`payoff.py`). Drafts change no token: the
model chooses each one, by the same processors and the same draw as without drafts (`choosing.py`).
"""
