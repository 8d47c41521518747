"""Situations that people run in: odd folders, variables, limits, streams, signals.

__main__: the campaign
situations: their list
machines: more of them: of the machine, its users and limits, and of what starts the program
signals: signals at moments of a run
"""
