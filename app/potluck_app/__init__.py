"""The tray app: it shows the daemon's status and sends it commands.

The app owns nothing that lasts but its preferences and the chat's conversations; the daemon owns all other state, and
either may die, restart or be updated without the other. The app knows the daemon's control API (`potluck_control`) and
nothing of the engine, the network or the library beyond errors, sentences and formats. Qt's thread never waits: calls
and events run in threads of their own, and signals bring their results.

Layers: `start`, `main`, `shell` (tray and window), `pages`, `widgets`, `words`. Each knows only those after it. An app
that starts in the tray loads no page; a page's module is imported when it is first opened. `windows` is for Windows.
"""
