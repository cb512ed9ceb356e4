"""Who belongs to a swarm, and what each of them may do.

Leaders write chains of signed entries that nobody can rewrite; who is a member follows from them, on every node alike
(decision 0035). It owns keys, invites, this user's memberships on disk, the gate that lets peers speak with a node, and
the budgets of people and strangers. A node never holds a person's key if it can do without, and the engine gets none.
It sends nothing itself: the gate is given a function for calls. It knows neither blocks nor routes, and loads neither
torch nor hivemind.
"""
