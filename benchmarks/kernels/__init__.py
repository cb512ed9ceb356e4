"""Kernels without a GPU

Triton's interpreter computes, its compiler compiles for cards that are not there, and stand-ins replace the device.
"""
