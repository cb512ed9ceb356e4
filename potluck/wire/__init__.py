"""The wire between peers of Potluck: messages to and from bytes. No I/O and no clock; see docs/decisions/0001-wire.md.

Import the module that codes what you need. `message`, `refusals`, `errors`, `dial_back` and `weights` load no torch.
"""
