"""What the app does on Windows only: WSL2 where the daemon lives, what Windows knows of its user, start at log-in.

Experimental: nobody of Potluck's has run it on a real Windows yet. `docs/windows-and-mac.md` says what was tried.
Nobody else's Linux is touched, and only the button fetches one. The decisions are pure and tried everywhere with a
stand-in of wsl.exe; only what asks Windows itself runs there alone.
"""
