"""Programs that a user would write instead, as the libraries' own documentation has them.

empty_tune: the least that Ray Tune can do
images: LeNet and a perceptron with torchvision
links: common neighbours; skip-gram with DGL's walks
noop_ray: trials that do nothing, with Ray Tune and MLflow
repeated_ray: repeated runs in a loop around Ray Tune
rgat_dgl: DGL's example of RGAT
rgat_trained: its training with DGL's sampler
sage_dgl: DGL's example of GraphSAGE, and the study's sampler
rgcn: a plain R-GCN on the whole graph
"""
