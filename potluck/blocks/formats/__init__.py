"""Holds the matrices of blocks as int8 or int4 codes, and multiplies by them.

`matrices.py` has the codes and the products, `layers.py` the layers that hold such matrices, and the choice of a
block's matrices that are converted. Everything else of a block stays as it is in the checkpoint.
"""
