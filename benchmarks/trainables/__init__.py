"""The speed of the trainables beside plain code of the same settings.

__main__: ``python -m benchmarks.trainables NAME`` for one of them
training: one training of ours, without an executor, and the environment of both sides
lenet: LeNet-5's data paths beside each other and beside a bare loop
graphsage: GraphSAGE beside plain DGL
rgat: relational attention beside DGL's example
"""
