"""Benchmarks: ours against what a user would run instead, in turn in one run.

harness: both sides in turn, and the ratio of their figures with its spread
orchestration: a trial's cost beyond its training, against plain Ray Tune with MLflow
noop_sweep: the sweep that orchestration runs; its trials do nothing
planning: the plan of 100,000 combinations
replay: the driver's time and memory by the number of trials, on simulated cores
analysis: from a run's directory to its page, by the number of trials
judge: how often its verdicts err
proofs: predicted times and scaling on public numbers of MLPerf
rounds: how often a confirm stage's intervals are wrong
loader_tuning: orchestrator tune against loadtune, on five scripts
search/: a search's part of a grid's front, and of its cost
trainables/: speed of the trainables against plain code
gpu/: tests and studies that need a GPU
peers/: programs that a user would write instead
checkouts: this checkout against an earlier one
recorded_runs: the runs that the notebooks are about, recorded anew
pictures: the pictures of README and docs
agents: SKILL.md and llms.txt, from the pages
code_shape: the code's shape, and the files that name a feature
walks: how often a reader returns to a module
results/: pages of published figures, also of benchmarks that were removed
"""
