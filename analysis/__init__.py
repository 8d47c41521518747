"""A short name in the checkout: ``import analysis`` is ``import orchestrator.analysis``.

Not installed with the package, so that a folder of this name in one's own repository stays one's
own. ``notebooks/`` has a notebook for each question that is asked of a run.
"""

import sys

import orchestrator.analysis

sys.modules[__name__] = orchestrator.analysis
