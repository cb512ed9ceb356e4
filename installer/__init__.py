"""Building what people install. One module or folder a target; no product logic."""
