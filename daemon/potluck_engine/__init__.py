"""The engine: the process that owns the GPU (or computes on the processor) and serves blocks to the swarm.

The daemon starts an engine or, while none runs, a standby node as `python -m potluck_engine`, and speaks to it over a
pipe. Nothing here knows the daemon, the app or the gateway.

    life        start, offload, restore and stop; announcements; moves to other blocks
    network     the node, whether others can reach it, and the links to other servers
    serving     sessions, calls, receipts and audits: everything that peers ask for
    compute     what runs next on the device, and how it runs
    memory      the KV cache: pages, kept beginnings, spilled sessions
    weights     finding, fetching, checking and loading the model's files
    placement   which blocks the swarm needs most; pure
    ranks       one span on several devices

One asyncio loop handles everything but computing. Steps of sessions and stateless calls have a thread each.
"""
