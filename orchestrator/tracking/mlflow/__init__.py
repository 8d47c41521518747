"""MLflow as a mirror of the journal, written by a separate process at low priority.

============  ===================================================================
driver        starts that process and has it finish; never imports mlflow
__main__      the process: it reads the journal while trials run, at low priority, then to its end
mirror        the fold that writes what MLflow lacks, in a safe order
content       a trial's history as MLflow's params, metrics and tags
parent        MLflow's client; the parent run: tags, note, the answer that the analysis left
views         three saved views of the experiment's page
uris          tracking URIs: checked, shown without secrets, and what opens them
============  ===================================================================

Nothing here is a source of facts: whatever MLflow has lost, or missed because its server was
away, is written again from the journal.
"""

from orchestrator.tracking.mlflow.driver import MlflowMirror
from orchestrator.tracking.mlflow.uris import checked_uri, default_uri

__all__ = ["MlflowMirror", "checked_uri", "default_uri"]
