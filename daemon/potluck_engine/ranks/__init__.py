"""One span on several devices. The engine is rank 0, and each other device has a process of its own.

Rank 0 decides everything, and the other ranks repeat its calls on their part of the weights, in the same order. All
ranks live and die together: if one is lost, all are killed, the engine ends, and its successor starts new ones.
"""
