"""MLflow as a mirror of the journal, written by a process of its own at low priority.

============  ===================================================================
driver        starts that process and tells it to finish; never imports mlflow
__main__      the process: ``python -m orchestrator.tracking.mlflow RUN_DIR``
mirror        what is missing in MLflow, and in which order it is written
content       a record of the journal as MLflow's params, metrics and tags
store         MLflow's client
follow        when it is written: beside the trials, then to the end
places        tracking URIs, and what to type to look there
priority      yielding to the trials
fresh         a new sqlite file with MLflow's tables
============  ===================================================================

Nothing here is a source of facts: whatever MLflow has lost, or was never told because its
server was away, is written again from the journal.
"""

from orchestrator.tracking.mlflow.driver import MlflowMirror
from orchestrator.tracking.mlflow.places import checked_uri, default_uri

__all__ = ["MlflowMirror", "checked_uri", "default_uri"]
