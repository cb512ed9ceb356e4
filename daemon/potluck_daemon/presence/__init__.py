"""Finds out whether somebody plays or uses the machine. The policy decides what follows from it.

A probe is one source of evidence: it watches a bus, the display, the processes or the hardware, and reports what it
sees. `tracking`, pure, turns sightings into evidence with a certainty; `Watch` runs the probes, and `Lookout` chooses
them by the settings and the desktop's session. Probes know nothing of the engine but the GPU and process of a
`Situation`. A probe that fails is shown and started again, and takes no other down. Probes read no more than they
need, so that watching costs next to nothing, and they start no service and never block the loop. No probe runs while
nothing that it may see could change a decision.
"""
