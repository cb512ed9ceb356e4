"""Trains through the swarm: passes without a cache, soft prompts, a value head, and LoRA in remote blocks.

Parameters, optimisers and files stay in this process. Servers compute forward and backward passes, keep nothing that
is needed, and send back gradients, so a lost server costs a repeated pass and changes no gradient.
"""
