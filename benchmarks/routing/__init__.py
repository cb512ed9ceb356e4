"""Routing through simulated swarms: how fast a route is found, and what a thousand sessions get from their routes."""
