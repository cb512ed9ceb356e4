"""The engine's environment: torch and the rest, installed on this machine for its hardware.

`hardware` reads the machine, `variants` and `plan` choose a build and a folder, `setup` makes it in a process of its
own, `store` keeps the environments on the disk. Nothing here imports torch; the new environment's own Python tries it.
The environment in use stays in use until another one has passed its trial, any step may be interrupted and is
continued by the next attempt, and only files whose hashes are known are installed. Nothing is upgraded unasked.
"""
