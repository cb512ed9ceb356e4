"""Newer versions of Potluck: what a publisher offers, and how one version takes the place of another.

`manifest` and most of `publisher` are pure: they check signatures and whether a description is the newest. `update`
fetches and unpacks in a process of its own; `versions` keeps versions side by side. Nothing is trusted but the key that
the user set, and nothing is installed without its hash. A switch is one link, so it survives a power cut, and a version
that does not prove itself is left again by the third start. The running version stays untouched until the switch.
Older versions can be started beside the state that a newer one has left.
"""
