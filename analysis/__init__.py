"""From a sweep's tables to an answer: the front, the settings to use, the report.

    from analysis.load import load

    trials = load("runs/products_loader/20261121-090000")

Each step is a module of its own: ``load`` (a run directory or MLflow), ``configs``
(repeats made one), ``pareto``, ``recommend``, ``compare``, ``report``, ``summary`` and
``write``. None of them imports a trainable, Ray or torch.
"""
