"""The report: a page that holds everything, and the tables on the terminal.

write: all files that the analysis leaves in a run directory
view: the tables of a run, joined and marked once, for all that follows
page: ``report.html``, rendered from ``templates/``
plot: ``front.png``, the picture of the front
console: the front, and a comparison of runs, on the terminal
summary: the last lines of a run
states: how many trials ended in which state
style: colours and layout of all figures

The sections of the page, in its order:

headline: the recommendation in large figures and as a command
scatter: speed against accuracy
verdicts: each config against the best, and the noise
composed: figures of configs that were not trained: their sign, and confirm runs beside them
steps: where the time of a step goes
ceilings: what limits each config, and composed speeds
effects: every config by one knob at a time
curves: accuracy over time
times: time to accuracy
published: figures of studies beside ours
tables: the front, all trials, and those that did not complete
environment: what was run, and on what
"""
