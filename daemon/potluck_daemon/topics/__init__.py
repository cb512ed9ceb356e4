"""What each method of the control API does. One file holds one topic: methods that belong together.

A topic is a class whose marked functions answer methods of `potluck_control`; `Topic` collects them, and the daemon
gives each topic its parts, a tick every few seconds and an end. Topics decide nothing about serving: they change
settings, swarms and pauses, and wake the loop. They know neither sockets nor lines, which are `control`'s. An answer
takes less than the control server's 30 seconds; what takes longer runs as a task of its topic and publishes its
progress. A PotluckError that a function raises becomes the answer to the caller.
"""
