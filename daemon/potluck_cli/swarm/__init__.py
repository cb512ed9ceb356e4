"""Commands about swarms: joining, leading, watching and inviting to one, and nodes in the foreground."""
