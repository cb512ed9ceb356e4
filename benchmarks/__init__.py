"""What Potluck promises in numbers. `python -m benchmarks --list` names the figures."""
