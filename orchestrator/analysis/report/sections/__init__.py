"""The sections of the page, in its order.

scatter: speed against accuracy
captions: its words, and a config's text in it
ranges: what its axes show at first
verdicts: each config against the best, and the noise
composed: figures of configs that were not trained: their sign, and confirm runs beside them
steps: where the time of a step goes
ceilings: what limits each config
section: the shape of a section, and of one of which nothing can be said
knobs/: what the knobs do
curves: accuracy over time and over samples
scaling: speed over a knob, for notebooks
infeasible: the memory that configs ran out of
times: time to accuracy
published: figures of studies beside ours
trials: every trial, those that did not complete, and how many ended in which state
environment: what was run, and on what
"""
