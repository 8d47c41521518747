"""Sweep files, one a question; each has a module-level ``SWEEP``.

mnist_dataloader: loader settings of a small network
mnist_parallel: one process, DataParallel or DistributedDataParallel
products_loader: loader settings of GraphSAGE on ogbn-products
graph_memory: memory of training on a large graph
mag240m_prefetch: prefetching to the GPU on MAG240M
products_tuning: speed and accuracy of GraphSAGE, a factored search of 210 configs
mnist_tuning: speed and accuracy of LeNet, a factored search of 2,000 configs
"""
