"""What the user wants (settings), what the daemon remembers (state), and what both mean for an engine.

`SettingsStore` reads and changes the file that people edit; `StateFile` keeps what nobody edits; `Configuration` joins
them with the swarms' file and makes the launch of an engine. The package doesn't know what runs now. Both files carry
a version and are written atomically. A mistake in the settings is named with its line and never keeps the daemon from
starting: the last settings without a mistake stay in force. Versions leave alone what only a newer one knows.
"""
