"""The engine's connection to the network: its node, who can reach it, and how fast its links are.

Nothing here knows blocks or torch, because standby nodes and bootstrap nodes use the same modules. Measurements are
made together with other servers of the swarm, and both sides bound what they cost.
"""
