"""The parts of `members_hold`: a swarm of gates, and what happens to it."""
