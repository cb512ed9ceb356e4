"""What this computer does with the daemon: one instance a user, start at log-in, systemd, owners of folders, ports.

Everything here speaks to the system: systemd, launchd, the desktop's autostart folder, locks and file owners. Nothing
knows what the daemon does. The state is read anew each time, nothing starts or ends as a side effect of a setting,
and everything but `ServiceManager` blocks. Root touches nothing in a folder that another user could have replaced: it
becomes that user first.
"""
