"""What the engine counts, as a page for Prometheus."""
