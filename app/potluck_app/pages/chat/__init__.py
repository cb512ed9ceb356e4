"""The page Chat: a conversation with the swarm's model, its answers, and the kept conversations.

Answers come from the gateway over HTTP, as they do for any other program; the daemon starts it. Conversations are
kept on this computer only, one private file each. What a model writes is shown as text: never as HTML, and nothing in
it is loaded.
"""
