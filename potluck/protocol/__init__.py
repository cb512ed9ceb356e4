"""The types that travel between processes and peers: ids, spans, messages, records, receipts, refusals and swarms.

It owns what these values mean and which of them are possible: ranges that hold for every model are declared here, and
`potluck.wire` and `potluck.directory` check the rest. It knows neither sockets nor files, and everything but receipts
and the codec of our own processes is encoded elsewhere. Only `messages` imports torch. Every text of another node is
checked to be printable before anybody shows it.
"""
