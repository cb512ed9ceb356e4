"""The first run, and the forms of it that other pages show again.

These are the compute engine's set-up, what starts at log-in, and the ways into a swarm. Every step has a default that
works, and a step that a computer does not need is left out.
"""
