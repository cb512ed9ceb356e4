"""Checks servers: other people's servers recompute windows of a client's sessions now and then.

Audits run in the background and cost a session nothing. A server that stands alone with its result is left, with all
servers of its owner, and reported to the swarm's leaders. The user chooses who may see windows of a text.
`potluck.audit` decides what counts as different, this package makes the calls.
"""
