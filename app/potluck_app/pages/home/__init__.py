"""The page Home: the state and the one pause control, today, what happened, earnings and the load.

It does not decide what to pause for; it shows the daemon's state and offers what ends it. All numbers of earnings come
from the daemon's ledger.
"""
