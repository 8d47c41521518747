"""The speed of the trainables against plain code with the same settings.

__main__: ``python -m benchmarks.trainables NAME`` for one of them
training: one training of ours, without an executor, and the environment of both sides
lenet: LeNet-5's data paths against each other and against a bare loop
graphsage: GraphSAGE against plain DGL
rgat: relational attention against DGL's example
"""
