"""What the methods of each topic in `control.methods` do to the daemon; `commands` has those of `control.schema`."""
