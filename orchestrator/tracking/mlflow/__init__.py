"""MLflow as a mirror of the journal, written by a process of its own at low priority.

============  ===================================================================
driver        starts that process and has it finish; never imports mlflow
__main__      the process: ``python -m orchestrator.tracking.mlflow RUN_DIR``
mirror        writes what MLflow lacks, in a safe order
content       a sweep's history as MLflow's params, metrics and tags
store         MLflow's client
follow        reads the journal while trials run, then to its end
places        tracking URIs, and the command that opens MLflow's pages
priority      yielding to the trials
fresh         a new sqlite file with MLflow's tables
============  ===================================================================

Nothing here is a source of facts: whatever MLflow has lost, or missed because its server was
away, is written again from the journal.
"""

from orchestrator.tracking.mlflow.driver import MlflowMirror
from orchestrator.tracking.mlflow.places import checked_uri, default_uri

__all__ = ["MlflowMirror", "checked_uri", "default_uri"]
