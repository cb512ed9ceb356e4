"""The process behind the OpenAI-compatible endpoint: a web server over a warm client for each joined swarm.

The daemon starts it as `python -m potluck_gateway` and sends it swarms and keys (`potluck_control.processes`).
`access` admits requests, `formats` parses them to what `exchange` defines and writes the answers, and `answers` makes
these with a swarm's model. Any number of programs may ask at once; servers compute their steps together.

Every request but a probe needs a key. Prompts and answers are never logged. The gateway knows nothing of the daemon but
the messages on its standard input and output; it also runs where nothing is served. Importing it loads no torch, but
answering does.
"""
