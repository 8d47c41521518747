"""The commands of ``python -m orchestrator.analysis``, each from its options to an exit code.

parser: the command line in, the options out
sources: the run that a command is about, from a folder or from MLflow
documents: one JSON document on standard output
show: a run's answer, front and files again
front: the front by any figures
export: a run's tables as files for other programs
open: the report in the browser
compare: two runs, with a verdict for CI
"""
