"""From a sweep's tables to an answer: the front, the settings to use, the report.

    from analysis.tables.load import load

    trials = load("runs/products_loader/20261121-090000")

Each step is a module of its own: ``load`` (a run directory or MLflow), ``comparable`` (which
rows may be ranked together), ``configs`` and ``pooling`` (repeats made one, and what they
tell of the noise), ``best`` (each config against the best), ``noise`` (the baseline against
itself), ``pareto``, ``time_to_accuracy`` (configs at equal time), ``recommend``, ``compare``,
``report``, ``summary`` and ``write``. None of them imports a trainable, Ray or torch.
"""
