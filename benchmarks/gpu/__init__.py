"""A GPU

`make gpu OUT=folder` measures these with torch, transformers and psutil alone (docs/decisions/0011-cuda.md).
"""
