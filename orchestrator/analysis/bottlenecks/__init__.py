"""Limits of each config's speed, from the ceilings that trials measure.

A ceiling is the speed of a trial's loader alone, or of its model alone.

gains: how many times as fast a config were if its loader, or its model, were free
prediction: speeds of worker counts and ways to prefetch that were not tried, with their errors
bounds: the speed that a loader, a model, a copy and the cores allow together
"""
