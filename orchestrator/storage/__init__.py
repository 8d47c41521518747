"""The files that a run leaves on disk, and the readers of them.

=============  ===================================================================
files          a run directory, locked while a run writes to it; its files by name
sweep_record   ``sweep.json``: a sweep as it was resolved, written and read
history        a sweep and its trials as the journal has them so far
runs           the runs below a folder; ``python -m orchestrator list``
tables         the tables of trials, curves, steps and of a factored search's candidates
=============  ===================================================================
"""
