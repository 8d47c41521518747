"""Training loops of other frameworks, measured and driven by a run.

Nothing of the program imports these modules: a trainable does. Each needs its framework.

============  ===================================================================
lightning     PyTorch Lightning: arguments of its ``Trainer``, a callback
transformers  Hugging Face: arguments of its ``Trainer``, a trainer that is timed
loaders       ``TimedLoader``: a loader whose steps the run times; samples of a batch
following     a run that follows another framework's loop: epochs, evaluations, figures
processes     threads and network of a training process; a library that is missing
============  ===================================================================
"""
