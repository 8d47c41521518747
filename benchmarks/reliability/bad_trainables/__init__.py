"""Training functions that misbehave, and what one costs the others.

__main__: the campaign
sweep: the sweep that has a config for each
misbehaviour: the ways to misbehave, and how each may end
misdeeds: what is done in them
odd: further ones: errors, hooks and loaders that are odd
"""
