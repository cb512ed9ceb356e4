"""Chooses routes through the servers of a swarm. Pure: no clock, no network."""
