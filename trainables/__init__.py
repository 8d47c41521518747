"""Training functions, their knobs and their data.

Trainables:

    lenet: LeNet-5 on small grey images
    mlp: a multi-layer perceptron on the same images
    graphsage: GraphSAGE, in sampled mini-batches or on the whole graph
    rgat: relational graph attention on a graph with several kinds of nodes
    node_embedding: skip-gram over random walks

Parts that several of them share:

    settings: knobs of the process, the loader and prefetching
    graph_knobs: knobs of graphsage and rgat
    images: splits, pixel scales and evaluation of images
    hold_out: validation nodes of a graph, held out or trained on
    classification: accuracy, also balanced, AUC and loss of a classifier's scores
    parallel: ranks, DataParallel and DistributedDataParallel
    precision: autocast and loss scaling
    losses: the loss of an epoch, kept on the device
    checkpoints: what a run resumes from after its process has died
    loading/: batches on their way to the training loop
    graph/: sampling, message passing, inference
    embedding/: walks, pairs, tables, link prediction
    data/: data sets and their formats
"""
