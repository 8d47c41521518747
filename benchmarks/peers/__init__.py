"""Programs that a user would write instead, as the libraries' own documentation has them.

noop_ray: trials that do nothing, with Ray Tune and MLflow
rgat_dgl: DGL's example of RGAT
sage_dgl: the network of DGL's example of GraphSAGE
"""
