"""MLflow as a mirror of the journal, written by a process of its own at low priority.

============  ===================================================================
driver        starts that process and has it finish; never imports mlflow
__main__      the process: ``python -m orchestrator.tracking.mlflow RUN_DIR``
mirror        writes what MLflow lacks, in a safe order
children      the part of a trial that MLflow has
content       a trial's history as MLflow's params, metrics and tags
parent        the parent run's tags, its note, and the params of the answer
answer        what the analysis left of the answer, in MLflow's terms
ending        the end of a sweep: answer, roles of the children, saved views
views         three saved views of the experiment's page
store         MLflow's client
follow        reads the journal while trials run, then to its end
uris          tracking URIs: which are allowed, and how they are shown
secrets       the secrets of a tracking URI, taken out of texts
places        the default place, and what opens MLflow's pages
priority      yielding to the trials
fresh         a new sqlite file with MLflow's tables
============  ===================================================================

Nothing here is a source of facts: whatever MLflow has lost, or missed because its server was
away, is written again from the journal.
"""

from orchestrator.tracking.mlflow.driver import MlflowMirror
from orchestrator.tracking.mlflow.places import default_uri
from orchestrator.tracking.mlflow.uris import checked_uri

__all__ = ["MlflowMirror", "checked_uri", "default_uri"]
