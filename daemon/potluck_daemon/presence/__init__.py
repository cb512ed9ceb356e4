"""Is somebody playing or using the machine? One probe a file; what follows from it is the policy's matter."""
