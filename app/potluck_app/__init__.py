"""The tray app: shows the daemon's status and sends it commands. It knows the daemon's control API and nothing else."""
