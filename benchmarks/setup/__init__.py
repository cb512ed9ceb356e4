"""What figures share: swarms on this machine, checkpoints, sessions, clients and processes of their own.

Nothing here measures a figure.
"""
