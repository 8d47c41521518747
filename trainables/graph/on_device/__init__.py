"""Sampling where the training is: the neighbours that the loader would have drawn.

draws: the loader's draws in torch operations, bit by bit, for any device
batches: mini-batches of those
relational_graph: batches of a graph with several relations, by the loader or on the device
"""
