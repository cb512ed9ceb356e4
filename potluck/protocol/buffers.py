"""Bytes that are handed on without copying them."""

from __future__ import annotations

Buffer = bytes | bytearray | memoryview
