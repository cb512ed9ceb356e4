"""Widgets without a screen."""

from __future__ import annotations

from helpers.application import application

__all__ = ["application"]
