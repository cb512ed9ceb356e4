"""The chat gateway: an OpenAI-compatible server on loopback that answers from a swarm."""
