"""``python -m orchestrator demo``: a recorded sweep, replayed in seconds.

play: the command line
demo: the sweep
recorded/: its runs, by ``sweeps/products_loader.py`` on two cores of an AMD EPYC: the configs
    that sample, one report in five, figures of six digits
"""
