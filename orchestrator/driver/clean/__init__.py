"""``python -m orchestrator clean``: what runs have left outside their run directories, removed.

command: the command: its options, and what it says
leftovers: the places where runs leave something, and what of it is in use
open_paths: the files and folders that processes have open
"""
