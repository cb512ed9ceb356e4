"""The swarms of this computer: members' records, invites, models, and reports about wrong results.

`MembersSync` passes members' records on between the file and the node that runs; the other modules answer questions
about swarms for the topics. The package decides nothing about people, which `potluck.membership` does, and never
speaks to other computers itself: a node does. A model on the hub is described by a short-lived process with the
engine's packages, so that the daemon stays small. People are shown by names that cannot be mistaken for another's.
"""
