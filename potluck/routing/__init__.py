"""Chooses routes through the servers of a swarm: which servers compute which blocks of a client's session.

It owns the costs of servers, the search over block boundaries, estimates of round trips that nobody measured, and what
a client learns of servers in its own sessions. It is pure: clocks and randomness are arguments, and it neither opens
connections nor reads the directory. Servers replace each other only if revision, number format and digest of a block
are equal, as far as they are known. A search among ten thousand servers takes milliseconds.
"""
