"""The trainables beside plain code of the same settings: speed and accuracy.

__main__: ``python -m benchmarks.trainables NAME`` for one of them
accuracy/: accuracy beside plain code of the same settings
embeddings: RGAT on graphs without features, beside a plain R-GCN and a vote
full_epoch: an epoch of GraphSAGE on a graph as large as ogbn-products
graphsage: GraphSAGE beside plain DGL
lenet: LeNet beside plain PyTorch
published_accuracy: accuracy of each trainable on real data, beside what others reached
relational_graphs: small graphs without features, generated for it
rgat: relational attention beside DGL's example
"""
