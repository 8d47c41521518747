"""The files that a run leaves on disk, and the readers of them.

=============  ===================================================================
files          the names of the files of a run directory
run_directory  the folder itself, locked while a run writes to it
replacing      files written beside their place and renamed
sweep_record   ``sweep.json``: a sweep as it was resolved, written and read
history        a sweep and its trials as the journal has them so far
belonging      whether the files of a run directory are of one run
tables         the trials and curves tables, made of the history
block_times    ``steps.jsonl`` and the table of the times of steps
candidates     ``candidates.parquet``: the configs of a factored search
=============  ===================================================================
"""
