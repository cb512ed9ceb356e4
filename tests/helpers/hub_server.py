"""A small server that speaks what huggingface_hub needs of a hub: search, model info, HEAD and ranged GET of files.

It listens on loopback only, counts what was asked of it, and can require a token or break connections in mid-file.
"""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from tests.helpers.loopback_server import LoopbackHandler, LoopbackServer


@dataclass
class HubRepo:
    """A folder served as `owner/model` at one commit."""

    folder: Path
    commit: str = "1" * 40
    token: str | None = None  # files need it when set; the description does not
    break_after: dict[str, int] = field(
        default_factory=dict
    )  # file -> bytes sent before the connection breaks, each time
    listing: dict[str, object] = field(default_factory=dict)  # what a search tells of it besides its name


@dataclass(frozen=True)
class Request:
    method: str
    file: str
    range: str | None


class HubServer(LoopbackServer):
    """`with HubServer({"owner/model": HubRepo(folder)}) as hub:` then HF_ENDPOINT=hub.origin."""

    def __init__(self, repos: dict[str, HubRepo]) -> None:
        super().__init__(_Handler)
        self.repos = repos
        self.requests: list[Request] = []

    def fetched(self) -> set[str]:
        """Files of which content was sent."""
        return {request.file for request in self.requests if request.method == "GET"}


class _Handler(LoopbackHandler[HubServer]):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:  # noqa: N802 (its name there)
        self._answer()

    def do_GET(self) -> None:  # noqa: N802 (its name there)
        self._answer()

    def _answer(self) -> None:
        parts = [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]
        if parts == ["api", "models"]:
            self._search(parse_qs(urlsplit(self.path).query).get("search", [""])[0])
        elif parts[:2] == ["api", "models"]:
            self._describe("/".join(parts[2:4]), parts[5] if len(parts) > 5 else "main")
        elif len(parts) >= 5 and parts[2] == "resolve":
            self._send_file("/".join(parts[:2]), parts[3], "/".join(parts[4:]))
        else:
            self._refuse(404, "EntryNotFound", "no such page")

    def _search(self, words: str) -> None:
        found = [{"id": name, **repo.listing} for name, repo in self.owner.repos.items() if words in name]
        self._send(200, json.dumps(found).encode(), {"Content-Type": "application/json"})

    def _describe(self, name: str, revision: str) -> None:
        repo = self.owner.repos.get(name)
        if repo is None:
            self._refuse(401, "RepoNotFound", "Repository not found")
        elif revision not in ("main", repo.commit):
            self._refuse(404, "RevisionNotFound", "Revision not found")
        else:
            siblings = [{"rfilename": path.name} for path in sorted(repo.folder.iterdir())]
            body = json.dumps({"id": name, "modelId": name, "sha": repo.commit, "siblings": siblings}).encode()
            self._send(200, body, {"Content-Type": "application/json"})

    def _send_file(self, name: str, revision: str, file: str) -> None:
        repo = self.owner.repos.get(name)
        if repo is None:
            return self._refuse(401, "RepoNotFound", "Repository not found")
        if repo.token is not None and self.headers.get("Authorization") != f"Bearer {repo.token}":
            return self._refuse(401, "GatedRepo", f"Access to model {name} is restricted")
        path = repo.folder / file
        if not path.is_file():
            return self._refuse(404, "EntryNotFound", "Entry not found", {"X-Repo-Commit": repo.commit})
        content = path.read_bytes()
        self.owner.requests.append(Request(self.command, file, self.headers.get("Range")))
        headers = {
            "X-Repo-Commit": repo.commit,
            "ETag": f'"{hashlib.sha1(content).hexdigest()}"',
            "Accept-Ranges": "bytes",
        }
        start = self.start or 0
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        limit = repo.break_after.get(file) if self.command == "GET" else None
        return self._send(206 if start else 200, content[start:], headers, limit)

    def _refuse(self, status: int, code: str, text: str, extra: dict[str, str] | None = None) -> None:
        self._send(status, b"", {"X-Error-Code": code, "X-Error-Message": text, **(extra or {})})

    def _send(self, status: int, body: bytes, headers: dict[str, str], limit: int | None = None) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(body[:limit])
        if limit is not None and limit < len(body):
            self.close_connection = True
