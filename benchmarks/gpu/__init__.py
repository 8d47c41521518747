"""Everything that needs a GPU: the tests marked ``gpu`` and the studies, run by ``run.sh``."""
