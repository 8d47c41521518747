"""The options of the command line.

declaration: the declaration of one option, readers of values, the executors by name
options: the table of all options; what a resumed run takes over
settings: values of ``--set``; options of the last version; options that contradict each other
"""
