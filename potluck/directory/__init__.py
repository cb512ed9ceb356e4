"""Announces servers and tells who serves which blocks.

Each server signs its own record, heartbeat and links. Servers hold the whole directory and pass news on by gossip; a
client asks another person's server each time what changed, and follows at most 300 servers. The DHT holds those with
which newcomers begin, and is the fallback. So a node can hold back what others say, but cannot change it.

No peer's word about another peer is trusted. A server leaves a node's map when its heartbeat has expired, or when it
does not answer that node's own ping; its next heartbeat brings it back. People take turns, not servers: a person has at
most 64 servers here, and gains nothing by more. The package knows neither routes nor models, and loads no torch.
"""
