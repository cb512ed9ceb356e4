"""Commands for and about other programs: agents, the gateway, games, shells and the app in another system."""
