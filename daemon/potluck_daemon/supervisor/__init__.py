"""Starts, watches, restarts and stops the processes that compute: the engine, its standby node, the gateway.

`Supervisor` carries out one order of the policy at a time and tells nobody what to do; `EngineProcess` and
`ChildProcess` own the processes. The package knows phases, deadlines and exits, but neither why an engine should run
nor what it computes. At most one engine, one standby node and one gateway run. Engine and standby node share an
identity and a port, so the standby node has ended before the engine gets its launch. A process that misses a deadline
is killed with its whole group, because that frees its memory at once. Only the time in which this process runs counts.
"""
