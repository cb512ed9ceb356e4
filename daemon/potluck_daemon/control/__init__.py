"""The server of the control API: a Unix socket, its connections, and the news that they subscribe to.

It knows the lines of `potluck_control` and who may send them, but not what any method does: handlers are given to it.
Whatever a caller may hold up has a time limit, and whatever it may fill has a size limit, so one caller that is stuck
or hostile costs its own connection for a few seconds at most. The socket file never exists with wider rights than
its users need, and is made again if somebody removes it. A line that is no request ends the connection, so that no web
page gets through a forwarder to a line that it chose.
"""
