"""Computes parts of blocks faster than a family's own code: in Triton on a GPU, in C on a processor.

On a GPU, common blocks run in few operations (`fused.py`, `block_operations.py`), products read quantised matrices as
they are held (`products.py`, `experts.py`), attention reads page tables (`paged_attention.py`), and small steps are
graphs that `decode_graphs.py` replays. On a processor, native kernels multiply few tokens (`native.py`) and run whole
blocks (`whole_blocks.py`). A kernel is used only after its results were compared; without kernels, everything runs on
plain torch. Modules that import triton are imported only where it was found.
"""
