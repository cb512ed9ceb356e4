"""Hugging Face checkpoints: finds the file of each tensor, downloads files, and builds models from parts of them."""
