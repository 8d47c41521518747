"""The trackers, which receive each of a sweep's events after the journal.

=======  =========================================================
base     the protocol of trackers
console  a live view or lines on standard output
mlflow   a mirror of the journal in MLflow, at low priority
=======  =========================================================
"""
