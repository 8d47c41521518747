"""The options of the command line.

declaration: the declaration of one option, readers of values, options that contradict each other
options: the table of all options; what a resumed run takes over
"""
