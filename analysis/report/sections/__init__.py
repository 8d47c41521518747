"""The sections of the page, in its order.

scatter: speed against accuracy
verdicts: each config against the best, and the noise
composed: figures of configs that were not trained: their sign, and confirm runs beside them
steps: where the time of a step goes
ceilings: what limits each config, and composed speeds
effects: every config by one knob at a time
curves: accuracy over time
times: time to accuracy
published: figures of studies beside ours
environment: what was run, and on what
"""
