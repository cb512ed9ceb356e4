"""Compares what two servers computed from the same inputs. Pure: no clock, no network, no model."""
