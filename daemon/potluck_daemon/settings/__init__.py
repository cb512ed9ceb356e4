"""What the user wants (settings), what the daemon remembers (state), and where both live."""
