"""What Potluck's processes share: the control API with its client, messages, settings and places.

- `api` is the control API: its wire format, the schema, the client, and what to do about daemons of other versions.
- `methods` declares the API's topics, a module each. Their behaviour is in `potluck_daemon.topics`.
- `processes` is what the daemon and its engine and gateway say to each other, and how a child process is started.
- `settings` declares every setting once; files, environment, options and the app's page are made from it.

All of it is plain data or light code: nothing here imports torch, Qt or the web framework, and nothing knows the
processes that use it.
"""
