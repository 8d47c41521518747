"""Benchmarks: ours against what a user would run instead, side by side in one run.

Speed and cost:

    trainables/: speed and accuracy of the trainables beside plain code
    graph_store: a graph in the store, shared between trials
    first_step: a trial's first training step on a graph that another has opened
    orchestration: a trial beyond its training, beside plain Ray Tune with MLflow
    noop_sweep: the sweep of that, whose trials do nothing
    long_runs/: thousands of trials, hundreds of reports a second, and the resumption of each
    warm_probes/: a probe beside its steps, and its speed in a warm process
    sweep_times: each sweep on its embedded data
    planning: the plan of 100,000 combinations
    mlflow_mirror: a sweep brought to MLflow
    replay: the driver's time and memory by the number of trials, on simulated cores
    checkouts: this checkout against an earlier one

Trust in the figures:

    analysis/: the analysis on drawn tables: how often it is right, and how long it takes
    search/: a search's part of a grid's front, and of its cost
    fidelity/: one config's throughput in every run of it
    confirming/: two configs that compute the same, interleaved and one after another
    stopping: runs that stopped by the rule, against the true rate
    time_slices: fresh processes of one config, interleaved on one core
    reliability/: faults made on purpose, and what is lost by them
    measurement_overhead: cost of measuring a step
    telemetry_overhead: cost of sampling a trial

And beside these:

    gpu/: tests and studies that need a GPU
    peers/: programs that a user would write instead
    side_by_side: two commands in turn, and the ratio of their figures
    recorded_runs: the runs that the notebooks are about, recorded anew
    pictures: the pictures of README and docs
    code_shape: table of the code's shape
"""
