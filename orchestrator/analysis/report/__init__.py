"""The report: a page that holds everything, and the tables on the terminal.

write: all files that the analysis leaves in a run directory
view: the tables of a run, joined and marked once, for all that follows
page: ``report.html``, rendered from ``templates/``
figures: a figure with the table that it draws, on the page and as CSV
vendored/: plotly.js, and its licence
thinning: the configs that are drawn of very many
marks: marks of configs in the pictures
plot: ``front.png``, the picture of the front
markdown: ``answer.md``, the answer as MLflow's page has it
console: the front, and a comparison of runs, on the terminal
summary: the last lines of a run
states: how many trials ended in which state
style: colours and layout of all figures
headline: the first screen: the answer, its three numbers, what changes, and its checks
to_copy: the recommended settings as commands, JSON and Python
tables: what all tables are made of, and that of the front
sections/: the other sections of the page
"""

from orchestrator.cache_folder import use_for_matplotlib

use_for_matplotlib()  # before it is imported
