"""The engine's counters as a page for Prometheus."""
