"""Warm start: a search is told of earlier runs' results first.

warm_start: results of earlier runs, kept with the run that is told of them
earlier_runs: which runs a search may be told of, and what they have to tell
of_options: the warm start that a command line asks for
"""
