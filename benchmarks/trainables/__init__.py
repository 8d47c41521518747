"""The trainables beside plain code of the same settings: speed and accuracy.

__main__: ``python -m benchmarks.trainables NAME`` for one of lenet, graphsage, rgat
accuracy: accuracy of each trainable beside a study's
full_epoch: an epoch of GraphSAGE on a graph as large as ogbn-products
graphsage: GraphSAGE beside plain DGL
lenet: LeNet beside plain PyTorch
rgat: relational attention beside DGL's example
"""
