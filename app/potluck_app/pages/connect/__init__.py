"""The page Connect: the address, the keys and the recipes for other programs that use the swarm's model.

The daemon runs the gateway and keeps the hashes of the keys; a key is shown once, when it is made.
"""
