"""The peer-to-peer network: a node made of a p2pd process, streams and calls through it, and hivemind's DHT on top.

`network` is the interface that everybody else uses, and `libp2p` implements it. Only this package imports hivemind. It
moves frames and bytes and knows nothing of what is in them; the gate and the budgets of `potluck.membership` decide who
may send how much, before each call and stream. Each of them is authenticated by the peer's key, and a frame's size is
checked before its body is read.

A node dials all its bootstrap peers and goes on with any that answers; it tries again with growing pauses, and goes
behind relays if nobody can dial it. Every wait has a limit, which stretches on a busy computer. What a node started
ends with it, p2pd even when this process is killed.
"""
