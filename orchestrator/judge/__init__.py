"""``python -m orchestrator judge``: is the new one faster? Two revisions, configs or commands.

command: the command line; pairs of runs until there is a verdict
sequential: the test of the pairs
sides: a revision, a config or a command as what is run
"""
