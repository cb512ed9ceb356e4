"""Who belongs to a swarm, and what each of them may do.

Leaders write chains of signed entries that nobody can rewrite; who is a member follows from them on every node alike,
by the order of entries and by no clock (decision 0035). An invite is an entry of a leader's chain, with its private
half as text. A newcomer's node presents an application, a member's node lets it in as a guest, and a leader's daemon
confirms it. A node presents itself once to each peer, so a step carries nothing about membership.

The package owns keys, invites, this user's memberships on disk, the gate that lets peers speak with a node, and the
budgets of people and strangers. The engine never holds a person's key. It sends nothing itself: the gate is given a
function for calls. It knows neither blocks nor routes, and loads neither torch nor hivemind.
"""
