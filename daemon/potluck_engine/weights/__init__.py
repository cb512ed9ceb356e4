"""The model's files and weights: how much fits, where files come from, and how blocks are loaded and checked.

Files that the swarm pins are checked against its manifest before they are read, and come from members or the hub.
Nothing is mapped, so that a file that is rewritten or cut short can neither change a token nor end the process. Blocks
are served only after a token went through them, and only with the weights that were announced before.

Kernels are tried out under a mark on disk, because a fault in one can end every process that tries them.
"""
