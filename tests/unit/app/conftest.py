"""Widgets without a screen."""

from helpers.application import english, qapp_args, wait

__all__ = ["english", "qapp_args", "wait"]
