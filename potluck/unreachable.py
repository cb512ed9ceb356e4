"""Says in one sentence why a server on the web cannot be reached, whichever library or program found out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from urllib.error import HTTPError
from urllib.request import getproxies, proxy_bypass

from potluck.sentences import Sentence, sentence, verbatim

_LIBRARIES = ("httpx", "httpx2", "httpcore", "httpcore2")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_SILENT = ("refused", "timed out", "unreachable")
_UNKNOWN_NAME = ("gaierror", "name or service", "name resolution", "nodename", "dns")
_UNREADABLE = ("invalidurl", "unknown scheme", "unknownscheme", "invalid port", "nonnumeric port", "valueerror")


def is_network_error(error: BaseException) -> bool:
    """Return whether an HTTP library failed, also because of a proxy's address or a package for SOCKS."""
    is_odd_proxy = isinstance(error, ImportError | ValueError) and "proxy" in str(error).lower()
    return is_odd_proxy or isinstance(error, OSError) or type(error).__module__.split(".")[0] in _LIBRARIES


def why_unreachable(host: str, found: BaseException | str) -> tuple[Sentence, Sentence]:
    """Return what is wrong and what to do about it, from an error or another program's words.

    Neither holds a proxy's address, which may hold a password.
    """
    words = found.lower() if isinstance(found, str) else " ".join(_words(found)).lower()
    lost = next((name for name in _CERTIFICATES if not os.path.exists(os.environ.get(name, "/"))), "")
    if lost and ("certificate" in words or "filenotfound" in words):
        why = sentence("{name} names certificates that are not there", name=lost)
        return why, sentence("correct or unset {name}", name=lost)
    if "certificate" in words:
        why = sentence("{host} has a certificate that is not trusted", host=host)
        return why, sentence("set SSL_CERT_FILE to the right certificates")
    if "socksio" in words:
        why = sentence("a SOCKS proxy needs the package socksio")
        return why, sentence("install it, or name an HTTP proxy instead")
    proxy = _proxy_for(host)
    if proxy and any(part in words for part in _UNREADABLE):
        why = sentence("the address of the proxy cannot be read")
        return why, sentence("correct HTTPS_PROXY, ALL_PROXY or NO_PROXY")
    if "tunnel" in words or "proxy" in words or (proxy and not isinstance(found, HTTPError)):
        why = sentence("the proxy does not reach {host}", host=host)
        if proxy.startswith("socks"):
            return why, sentence("name an HTTP proxy instead")
        return why, sentence("check HTTPS_PROXY, ALL_PROXY and NO_PROXY")
    check = sentence("check this computer's network")
    if any(part in words for part in _UNKNOWN_NAME):
        return sentence("{host} cannot be found", host=host), check
    is_silent = isinstance(found, str) or any(part in words for part in _SILENT)
    reason = "" if is_silent else str(getattr(found, "reason", "") or found)
    return verbatim(reason) or sentence("{host} does not answer", host=host), check


def _words(error: BaseException | None) -> Iterator[str]:
    while error is not None:
        yield f"{type(error).__name__} {error}"
        reason = getattr(error, "reason", None)
        error = reason if isinstance(reason, BaseException) else error.__cause__ or error.__context__


def _proxy_for(host: str) -> str:
    proxies = getproxies()
    return "" if proxy_bypass(host) else proxies.get("https") or proxies.get("all") or ""
