"""The wire between peers of Potluck: messages to and from bytes. See docs/decisions/0001-wire.md.

It owns the layout of all calls between clients and servers and checks everything that a peer sends: sizes before memory
is touched, shapes against the model's limits, and no NaN or infinity gets through. Malformed bytes are a `WireError`
here and a `RemoteError` for everybody else. It does no I/O and reads no clock. Golden bytes in the tests keep the
layout. `message`, `errors` and `protocols` load no torch; import the module that codes what you need.
"""
