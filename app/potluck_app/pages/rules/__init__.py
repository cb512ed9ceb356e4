"""The page Rules: when this computer donates, and how much of it.

Every row is a setting of the daemon, which takes effect at once and can be taken back. The daemon knows ranges and
defaults; this package only names and explains them.
"""
