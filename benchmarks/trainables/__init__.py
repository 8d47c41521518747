"""The trainables beside plain code of the same settings: speed and accuracy.

__main__: ``python -m benchmarks.trainables NAME`` for one of them
accuracy/: accuracy beside plain code of the same settings
graphsage: GraphSAGE beside plain DGL
lenet: LeNet beside plain PyTorch
rgat: relational attention beside DGL's example
"""
