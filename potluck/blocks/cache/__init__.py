"""Holds keys and values: in pages that all sessions of a span share, or in a cache of one session alone.

`pages.py` counts pages and knows no tensors, `arenas.py` holds slots and knows no pages, and `kv_memory.py` joins the
two. While a step runs, `step_caches.py` takes the place of a transformers cache and hands views of the pages to the
attention. The package does not know which sessions there are or how long they may become.
"""
