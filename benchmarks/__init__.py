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
    pareto: the Pareto front of a large table
    checkouts: this checkout against an earlier one

Trust in the figures:

    fidelity/: one config's throughput in every run of it
    confirming/: two configs that compute the same, interleaved and one after another
    comparisons: differences that are claimed and not there, or there and missed
    two_runs: regressions that are claimed and not there, or there and missed
    effects: what is said of knobs that do something, and of those that do not
    interference: effects that the interference check finds
    stopping: runs that stopped by the rule, against the true rate
    time_slices: fresh processes of one config, interleaved on one core
    reliability/: faults made on purpose, and what is lost by them
    measurement_overhead: cost of measuring a step
    telemetry_overhead: cost of sampling a trial

And beside these:

    gpu/: tests and studies that need a GPU
    peers/: programs that a user would write instead
    side_by_side: two commands in turn, and the ratio of their figures
    code_shape: table of the code's shape
"""
