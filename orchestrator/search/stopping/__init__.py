"""Ending a search's trials early, by what they have shown against the others.

layers: the order of points with several objectives, as plain functions
"""
