"""Commands that keep Potluck going: settings, diagnosis, set-up and updates."""
