"""Announces servers and tells who serves which blocks.

Each server signs its own record, heartbeat and links, and the nodes of members pass them on by gossip; the DHT holds
those with which newcomers begin. So a node can hold back what others say, but cannot change it. What this package
learns of a server is what the server signed and what this node saw itself: no peer's word about another peer is
trusted. People take turns, not servers, so nobody gains by running many of them. It knows neither routes nor models,
and loads no torch.
"""
