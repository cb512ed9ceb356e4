"""What is there without any page: the tray, the window, the connection to the daemon, and the process itself.

The shell knows that there are pages, but not what is on them. A daemon that is away, hangs, is updated or speaks
another version is its business, and so is an update of the app under its open window. The connection's threads send
signals only; everything else runs in Qt's thread.
"""
