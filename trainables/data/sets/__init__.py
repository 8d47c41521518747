"""Data sets by name.

Real ones:

    digits: handwritten digits that come with scikit-learn
    mnist: MNIST, or other images in its format
    ogbn_products: ogbn-products, or another graph in OGB's layout
    ogb_hetero: ogbn-mag, ogbn-aifb, or another folder in OGB's heterogeneous layout
    mag240m: MAG240M
    folders: folders that a user names

Generated ones:

    products_synthetic: the shape of ogbn-products, at any scale
    community_graph: its graph, with power-law degrees and nested communities
    mag_synthetic: the layout of MAG240M, at any scale
    mag_generator: the files of that layout
    scales: what generated sets share: a size, as in ``name@0.1``
"""
