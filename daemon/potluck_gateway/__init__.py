"""The chat gateway: an OpenAI-compatible server on loopback before a swarm. `Gateway` is the daemon's side of it."""
