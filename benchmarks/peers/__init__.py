"""Programs that a user would write instead, as the libraries' own documentation has them.

empty_tune: the least that Ray Tune can do
noop_ray: trials that do nothing, with Ray Tune and MLflow
repeated_ray: repeated runs in a loop around Ray Tune
rgat_dgl: DGL's example of RGAT
rgcn: a plain R-GCN on the whole graph
"""
