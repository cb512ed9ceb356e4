"""Speed of a server

One thread a process, against the local model, another library or the same engine in the same run.
"""
