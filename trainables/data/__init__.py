"""Data sets: found, checked, converted once a node into memory-mapped arrays.

    sets/: the sets by name; each finds its files and prepares them
    layouts/: the folders of sets: files found, checked and read
    formats/: formats of files, their checks, and the stores that sets are converted to

Modules here import neither torch nor dgl, ogb, torchvision or scikit-learn until they are
asked for data: the driver imports them.
"""
