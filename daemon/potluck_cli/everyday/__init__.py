"""The commands of every day: the daemon, its state, pauses, chats and points."""
