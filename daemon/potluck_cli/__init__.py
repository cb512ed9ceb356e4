"""The commands `potluck` and `potluckd`.

`entry` and `main` run `potluck`, `daemon` runs `potluckd`. The folders hold the subcommands, grouped as in `potluck
--help`; `main` lists them, and `parser` defines what a command is. The other modules are what commands share: reaching
the daemon, choosing the swarm, options, and the terminal.

A subcommand's module is imported only when it is called, and loads heavy packages only when it runs, so help answers at
once. Every command prints text for people, or one JSON object with --json. It imports any other package, and none
imports it. Installations start `potluck_cli.entry`, `main` and `daemon` by these names, so they stay.
"""
