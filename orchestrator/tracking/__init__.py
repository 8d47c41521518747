"""The trackers, which are told of each of a sweep's events after the journal.

=======  =========================================================
base     what every tracker keeps to
console  a live view or lines on standard output
mlflow   a mirror of the journal in MLflow, at low priority
=======  =========================================================
"""
