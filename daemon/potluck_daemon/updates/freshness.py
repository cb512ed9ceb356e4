"""Whether a signed description is the newest there is, or an old one that somebody shows again. Pure.

A signature does not age. What it takes against a server that repeats, hides or mixes is The Update Framework's
(theupdateframework.io, specification 1.0, section 5): descriptions only ever go forward (no rollback), they expire (no
freezing), one description names all files by their hashes (no mixing), and a key names the one that follows it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from potluck_daemon.updates.manifest import BadManifestError, Offer, is_newer

_MAX_CLOCK_ERROR_S = 86400.0


@dataclass(frozen=True, slots=True)
class KnownPublisher:
    """What was learnt from one publisher. Keys in base64.

    `anchor`: the key that the user named; a change of it begins anew. `key`: the one that counts now. `next_key`: the
    one that will, as soon as something signed by it was seen. The rest: of the newest description.
    """

    anchor: str = ""
    key: str = ""
    next_key: str = ""
    issued_at: int = 0
    version: str = ""
    changes: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """Whose signature counts."""
        return tuple(filter(None, (self.key, self.next_key)))


def publisher_of(anchor: str, seen: KnownPublisher) -> KnownPublisher:
    """What counts for a user who trusts `anchor`."""
    return seen if seen.anchor == anchor else KnownPublisher(anchor=anchor, key=anchor)


def accept(offer: Offer, signer: str, seen: KnownPublisher, now: float) -> KnownPublisher:
    """What is known after this offer, signed by one of `seen.keys`. `now`: Unix seconds.

    Raises:
        BadManifestError: it is old, shown again, or from the future.
    """
    if offer.issued_at > now + _MAX_CLOCK_ERROR_S:
        raise BadManifestError("the update's description is from the future", hint="set this computer's clock")
    if offer.expires_at <= now:
        text = "the update's description has expired: the publisher is gone, or somebody hides newer ones"
        raise BadManifestError(text, hint="see the publisher's page")
    is_repeated = offer.issued_at == seen.issued_at and offer.version != seen.version
    if offer.issued_at < seen.issued_at or is_repeated or is_newer(seen.version, offer.version):
        text = f"version {offer.version} is offered, but {seen.version} was before: somebody shows an old description"
        raise BadManifestError(text, hint="see the publisher's page")
    known = replace(seen, issued_at=offer.issued_at, version=offer.version, changes=offer.changes)
    return replace(known, key=signer, next_key=offer.next_key if offer.next_key != signer else "")
