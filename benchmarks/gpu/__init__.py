"""What Potluck promises of a GPU: `python -m benchmarks.gpu` measures it, with nothing but `potluck.blocks`."""
