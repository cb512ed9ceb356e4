"""The app's texts: what the daemon's data mean in the user's language.

No widget is known here. Texts are translated when they are shown, so another language takes effect at once. The daemon
sends sentences as data, which are translated here by their template; what has no translation stays English. Numbers,
sizes and dates follow the user's locale.
"""
