"""MLflow reads these when it is first imported."""

import os

os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
