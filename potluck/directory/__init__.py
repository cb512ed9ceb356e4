"""Announces servers and tells who serves which blocks; each server signs its own announcements."""
