"""When things go wrong

Real swarms, daemons and commands on this machine. The seeds are fixed, so that a series can be repeated.
"""
