"""The options of the command line.

declaration: the declaration of one option, and readers of values
options: the table of all options; what a resumed run takes over
settings: values of ``--set``; options of the last version; options that contradict each other
"""
