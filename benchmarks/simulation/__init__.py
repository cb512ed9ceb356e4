"""A swarm of volunteers over hours, and the placement policies that are compared on it."""
