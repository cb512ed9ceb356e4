"""Large swarms

Simulations run the engine's and the client's own functions, on the volunteers of `volunteers-70b.json`.
"""
