"""Everything that an engine answers: sessions, stateless calls, quotes, receipts, audits, and the head for gateways.

`Service` holds a span in service. `Handlers` registers the protocols, and `session_stream` serves one session on one
stream. Each request is admitted before anything is computed: sizes, types and ranges are checked while it is decoded,
and what a person's requests hold is bounded. Every request in flight gets an answer when something ends.

No work is refused for lack of credits: receipts only decide who comes first where people compete. What peers send is
never trusted, and a session's private adapter, beginnings and choices of experts are kept for its own client alone.
"""
