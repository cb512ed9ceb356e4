"""Commands about models: what is stored and served, completions, and what a token costs."""
