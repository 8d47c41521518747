"""Programs that a user would write instead, as the libraries' own documentation has them.

images: LeNet and a perceptron with torchvision
links: common neighbours; skip-gram with DGL's walks
noop_ray: trials that do nothing, with Ray Tune and MLflow
rgat_dgl: DGL's example of RGAT
rgat_trained: its training with DGL's sampler
sage_dgl: DGL's example of GraphSAGE
"""
