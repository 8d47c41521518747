"""Sweeps that record the tables: speeds of all settings, curves of all ways to learn.

    python -m orchestrator benchmarks/search/recording/lenet_speeds.py --out runs/lenet_speeds
    python -m benchmarks.search.recorded lenet --speeds runs/lenet_speeds --curves RUN_DIR

made: the recordings of a tuning sweep
lenet_speeds: LeNet-5, 200 settings
lenet_curves: LeNet-5, 50 curves
lenet_200: LeNet-5, a real search of 200 configs
sage_speeds: GraphSAGE, 42 settings
sage_curves: GraphSAGE, 30 curves
sage_long_curves: GraphSAGE, 30 curves of 200 epochs
"""
