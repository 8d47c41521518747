"""A replay from a command line: recorded runs instead of measured ones.

as_recorded: its table read, its sweep made to fit
marks: its record marked, and its last line
"""
