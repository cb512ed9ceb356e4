"""The peer-to-peer network: a node made of a p2pd process, streams and calls through it, and hivemind's DHT on top.

`network` is the interface that everybody else uses, and `libp2p` implements it. Only this package imports hivemind. It
moves frames and bytes and knows nothing of what is in them; the gate and the budgets of `potluck.membership` decide who
may send how much. Each call and stream is authenticated by the peer's key, a frame's size is checked before its body is
read, and every wait has a limit, which stretches on a busy computer. What a node started ends with it, p2pd even when
this process is killed.
"""
