"""Formats of files, their checks, and the stores that data sets are converted to.

Stores, which trials map:

    arrays: memory maps that numpy and torch share
    array_writer: ``.npy`` files written a piece at a time
    conversion: once a node, at the first request, and never half
    graph_store: a graph with features, labels and splits
    relational_store: the same with several kinds of nodes and edges
    relational_columns: edge lists of several relations to compressed sparse columns
    image_data: small grey images with labels
    csc: an edge list to compressed sparse columns
    dgl_graph: a DGL graph over mapped columns
    neighbour_means: features of nodes that have none

Formats of files, and their checks:

    idx: files of bytes in MNIST's format
    naming: names of sets, by their counts or their folder
    numbers_file: ``.csv.gz`` files of numbers
    checks: values of arrays
    plain_pickle: files of ``torch.save``, read for arrays and numbers only
    ogb_loader: OGB's own loaders, without their questions
    downloads: files that appear under their name when they are complete
    packages: libraries that a machine may lack
"""
