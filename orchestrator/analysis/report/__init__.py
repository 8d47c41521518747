"""The report: a page that holds everything, and the tables on the terminal.

write: all files that the analysis leaves in a run directory
view: the tables of a run, joined, marked and, of very many configs, thinned once
page: ``report.html``, rendered from ``templates/``
figures: a figure with the table that it draws, on the page and as CSV
vendored/: plotly.js, and its licence
plot: ``front.svg``, the picture of the front
markdown: ``answer.md``, the answer as MLflow's page has it
console: the front, and a comparison of runs, on the terminal
summary: the last lines of a run
style: colours, marks and layout of all figures
headline: the first screen: the answer, its three numbers, what changes, and its checks
to_copy: the recommended settings as commands, JSON and Python
tables: what all tables are made of, and that of the front
sections/: the other sections of the page
"""
