"""Hugging Face checkpoints: finds the file of each tensor, downloads files, and builds models from parts of them.

It owns folders and downloads of a model, safetensors files, formats of quantised checkpoints, adapters on disk, the two
ends of a model, and how families of models differ. Nothing is unpickled, no code of a checkpoint is ever run, and
headers, shapes and names are checked before they are used: files may come from strangers. What computes is what a
digest was taken of, because files are read into memory of our own and never mapped. It knows neither spans that serve
nor the network of peers; `potluck.blocks` runs the layers.
"""
