"""The daemon `potluckd`: a process for each user that decides when to serve and owns state that outlives engines.

`daemon` is the composition root, `parts` connects the parts, `loop` decides and acts: probes (`presence`) and limits
lead to a decision (`policy`), which the `supervisor` carries out on the engine's process. `control` and `topics` answer
the app and the commands, which may die at any moment; `accounting` books what serving earns. The daemon imports no
torch and stays small while it is paused. It knows the engine only by a versioned pipe, and the engine may run another
interpreter: the `environment` made on this computer. An engine never outlives its daemon; the kernel makes sure of
that. Work that takes long or loads much runs in a process of its own (`child_process`). `cli` keeps a name by which
older versions start this one.
"""
