"""Situations that people run in: odd folders, variables, limits, streams, signals.

__main__: the campaign
situations: their list
signals: signals at moments of a run
"""
