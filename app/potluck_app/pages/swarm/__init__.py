"""The page Swarm: layers, people, invites, the user's swarms and computers, and models.

The page asks for the list of members once, and its sections show it. Whether a person may do something is the daemon's
decision; the page only hides what would be refused. Whatever cannot be undone asks first. Invites leave the screen
with the page, because they hold keys.
"""
