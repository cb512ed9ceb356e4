"""Describes and signs a built version, so that installations may update to it: `python -m installer.release`.

The publisher's side of `potluck_daemon.updates`. The description names every file of the version in the folder by its
hash; its signature lies beside it. Both go to the web server with the files; docs/releasing.md tells the steps.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import sys
import time
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from potluck_daemon.updates.manifest import (
    PRODUCT,
    BadManifestError,
    Offer,
    is_newer,
    parse_key,
    parse_offer,
    read_offer,
)
from potluck_daemon.updates.update import KIND

from installer.tree import product_version
from potluck.errors import PotluckError, UsageError
from potluck.files import write_atomically

MANIFEST = "potluck.json"
_DAYS = 180
_DAY_S = 86400


def new_key(path: Path) -> str:
    """Make a key that only its owner may read and return its public part. Raises UsageError if the file exists."""
    if path.exists():
        raise UsageError(f"{path} exists; a key is not overwritten", hint="name another file")
    key = Ed25519PrivateKey.generate()
    write_atomically(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return public_part(key)


def load_key(path: Path) -> Ed25519PrivateKey:
    """Read a private key. Raises UsageError."""
    try:
        key = load_pem_private_key(path.read_bytes(), None)
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"{path} cannot be read as a key: {error}", hint="make one with --new-key") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError(f"{path} is no Ed25519 key", hint="make one with --new-key")
    return key


def public_part(key: Ed25519PrivateKey) -> str:
    """Return the public key in the form that users set."""
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


def release(
    folder: Path, version: str, changes: list[str], key: Ed25519PrivateKey, *, next_key: str = "", days: int = _DAYS
) -> Offer:
    """Write the description of `version` in `folder`, and its signature; an existing description is its predecessor.

    Raises:
        UsageError: installations would refuse it, or it says too little.
    """
    previous = _previous(folder, public_part(key))
    files = _files(folder, version)
    if not changes:
        raise UsageError("no changes are listed", hint="write one a line in the file of --changes")
    if next_key:
        parse_key(next_key)
    if previous is not None:
        _check_follows(version, files, previous)
    now = max(int(time.time()), previous.issued_at + 1 if previous is not None else 0)
    fields = {
        "product": PRODUCT,
        "version": version,
        "issued_at": now,
        "expires_at": now + days * _DAY_S,
        "changes": changes,
        "files": files,
        "next_key": next_key,
    }
    content = json.dumps(fields, indent=2).encode() + b"\n"
    signature = base64.b64encode(key.sign(content)) + b"\n"
    try:
        offer, _ = read_offer(content, signature, [public_part(key)])
    except BadManifestError as error:
        raise UsageError(f"installations would refuse it: {error}") from None
    write_atomically(folder / MANIFEST, content, mode=0o644)
    write_atomically(folder / f"{MANIFEST}.sig", signature, mode=0o644)
    return offer


def _previous(folder: Path, key: str) -> Offer | None:
    """Return the last release. Raises UsageError if this key may not sign its successor."""
    path = folder / MANIFEST
    if not path.exists():
        return None
    content = path.read_bytes()
    previous = parse_offer(content)
    try:
        read_offer(content, path.with_name(f"{MANIFEST}.sig").read_bytes(), [key])
    except (OSError, BadManifestError):
        if previous.next_key != key:
            hint = "sign once more with the old key and --next-key, and let all installations see that first"
            raise UsageError(
                "the last release was signed by another key, which names this one not", hint=hint
            ) from None
    return previous


def _check_follows(version: str, files: dict[str, dict[str, object]], previous: Offer) -> None:
    """Raise UsageError if installations of the previous version would refuse this one."""
    if is_newer(previous.version, version):
        text = f"{previous.version} was released already; installations do not go back to {version}"
        raise UsageError(text, hint="release what works again under a higher version")
    before = {kind: file.sha256 for kind, file in previous.files.items()}
    if not is_newer(version, previous.version) and before != {kind: file["sha256"] for kind, file in files.items()}:
        raise UsageError(f"{version} was released with other files", hint="a change needs a higher version")


def _files(folder: Path, version: str) -> dict[str, dict[str, object]]:
    """Return the files of this version. Raises UsageError without the one that updates install."""
    found = {}
    for path in sorted(folder.glob(f"*{version}*")):
        content = path.read_bytes()
        kind = KIND if path.name == f"potluck-{version}.run" else path.name
        found[kind] = {"name": path.name, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    if KIND not in found:
        raise UsageError(f"there is no {folder}/potluck-{version}.run", hint="make installer")
    return found


def _lines(path: Path) -> list[str]:
    """Return the changes, one a line, without the dashes that people put before them."""
    try:
        lines = [line.strip().removeprefix("-").strip() for line in path.read_text().splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    return [line for line in lines if line]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m installer.release", description=__doc__)
    parser.add_argument("--new-key", type=Path, metavar="FILE", help="only make a key, and print its public part")
    parser.add_argument("--key", type=Path, metavar="FILE", help="what to sign with")
    parser.add_argument("--changes", type=Path, metavar="FILE", help="what changes for users, a line each")
    parser.add_argument("--dist", type=Path, default=Path("dist"), help="where the files are (default: %(default)s)")
    parser.add_argument(
        "--next-key", default="", metavar="KEY", help="public part of the key that will follow this one"
    )
    parser.add_argument("--days", type=int, default=_DAYS, help="how long it may be offered (default: %(default)s)")
    args = parser.parse_args()
    try:
        if args.new_key is not None:
            print(new_key(args.new_key))
            return 0
        if args.key is None or args.changes is None:
            parser.error("--key and --changes are needed")
        key = load_key(args.key)
        offer = release(args.dist, product_version(), _lines(args.changes), key, next_key=args.next_key, days=args.days)
    except PotluckError as error:
        print(f"release: {error.message}{f' ({error.hint})' if error.hint else ''}", file=sys.stderr)
        return 1
    told = {"version": offer.version, "files": len(offer.files), "key": public_part(key), "manifest": MANIFEST}
    print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
