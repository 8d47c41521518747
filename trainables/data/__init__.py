"""Data sets: found, checked, converted once a node into memory-mapped arrays.

Modules here import neither torch nor dgl, ogb, torchvision or scikit-learn until they are
asked for data: the driver imports them.
"""
