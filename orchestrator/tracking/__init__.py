"""The trackers: folds of a sweep's events that its user sees, each with a ``close``.

=======  =========================================================
console  a live view or lines on standard output
mlflow   a mirror of the journal in MLflow, at low priority
=======  =========================================================
"""
