"""What the daemon and its child processes say to each other, and how such a process is started.

The engine speaks JSON lines over a pipe (`engine_messages`): it gets a `LaunchSpec`, then commands, and sends events
and reports. Receipts also pass through files (`receipt_outbox`), so that no crash loses one. The gateway gets swarms
and keys on its standard input (`gateway_messages`), because others may read a command line. Messages are plain data;
each end may run another version.
"""
