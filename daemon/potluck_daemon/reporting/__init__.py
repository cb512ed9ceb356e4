"""Turns what the daemon knows into what people and tools read: status, history, log and metrics.

`status` and `metrics_text` are pure; the others own a file or an HTTP page. Nothing here decides anything or knows how
the numbers came about. A full disk costs a line of log or history and never stops the daemon. Nothing private leaves:
every line of the log is redacted, and the pages over HTTP are read-only and off unless the user switches them on.
"""
