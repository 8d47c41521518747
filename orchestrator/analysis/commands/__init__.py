"""The commands of ``python -m orchestrator.analysis``.

- ``parser``: the command line in, the options out.
- ``documents``: the run that a command is about; one JSON document on standard output.
- ``actions``: a function a command, from its options to an exit code.
"""
