"""Warm start: a search receives results of earlier runs first.

warm_start: results of earlier runs, kept with the run whose search received them
earlier_runs: the runs that a command line names, where they are comparable
"""
