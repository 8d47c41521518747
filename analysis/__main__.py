"""``python -m analysis``: short for ``python -m orchestrator.analysis``."""

import runpy

runpy.run_module("orchestrator.analysis", run_name="__main__", alter_sys=True)
