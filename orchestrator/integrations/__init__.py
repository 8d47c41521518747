"""Training loops of other frameworks, measured and driven by a run.

Nothing of the program imports these modules: a trainable does. Each needs its framework.
"""
