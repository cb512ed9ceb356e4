"""The life of an engine, and its way through the swarm.

`Engine` owns the order in which things start, are offloaded, restored and stopped. It decides nothing: the daemon says
when to give the device back, and `placement` says which blocks to serve. `Announcements` tells the swarm what is
served, and `Rebalancer` moves the engine to other blocks while it serves.

Everything that loads or frees weights holds one lock and checks afterwards what it depends on. An offload ends sessions
with a code on which clients continue elsewhere; the node stays in the network.
"""
