"""Places of a graph and of its features: the loader's memory, the GPU's, or page-locked memory.

placement: the knobs, and arrays put where they ask for
features: rows of nodes, wherever they are; a cache of them on the GPU
mapped: bounds on the memory of mapped files
"""
