"""The trackers: folds of a sweep's events that its user sees, each with a ``close``.

console: lines and the live view
mlflow: the mirror in MLflow
trackers: calls of a sweep's own trackers, in a thread
writers: ``Csv`` and ``TensorBoard``
"""

from orchestrator.kernel.parts import Tracker
from orchestrator.tracking.writers import Csv, TensorBoard

__all__ = ["Csv", "TensorBoard", "Tracker"]
