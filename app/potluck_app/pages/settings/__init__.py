"""The page Settings: the app's own preferences, log-in, installation and updates, backup and diagnostics.

The app's preferences are its own; everything else is done by the daemon and shown here.
"""
