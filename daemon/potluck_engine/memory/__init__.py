"""The memory of sessions: pages of the KV cache, beginnings that are kept, and sessions that are spilled.

`PageAdmission` decides by counts alone who gets pages, and `Paging` carries it out for the step loop, the only user.
Everything counts: pages of sessions and of kept beginnings, and the caches of sessions that run alone. While people
compete, each is entitled to an equal share, and pages come first from sessions that are idle.

Beginnings are shared within one client only, so that nobody learns from the time of an answer what others have asked.
"""
