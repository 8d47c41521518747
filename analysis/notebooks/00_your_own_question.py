# %% [markdown]
# # A question of your own
#
# Every run of a sweep can be read by pandas. Here is how to load a run, find the column you need,
# look at the trials that you care about, and take the rest elsewhere.
#
# Set the variable `RUN` to a run directory of your own.

# %%
import os
import tempfile

import orchestrator.analysis as an

RECORDED = an.NOTEBOOKS / "recorded"
RUN = os.environ.get("RUN", RECORDED / "products_loader")
run = an.load(RUN)
print(run.sweep.question)

# %% [markdown]
# `run.trials` has a row a trial. Its columns are knobs (`params.*`), figures (`metrics.*`), tags
# (`tags.*`) and how the trial ended. `describe` tells what each is and how often it was measured.

# %%
columns = an.describe(run)
columns[columns["num_measured"] > 0].query("kind == 'metric'")[["column", "unit", "meaning"]]

# %% [markdown]
# It is a frame like any other. Which trials waited longest for their batches?

# %%
varied = [f"params.{name}" for name in run.sweep.space]
figures = ["metrics.samples_per_s", "metrics.wait_ms", "metrics.step_ms"]
done = run.trials[run.trials["state"] == "completed"]
waits = done.assign(share=done["metrics.wait_ms"] / done["metrics.step_ms"])
waits.nlargest(5, "share")[[*varied, *figures, "share"]]

# %% [markdown]
# Repeats of a config are several rows there. `configs` makes them one, with the 95 % interval of
# its speed and a verdict against the best. The front, the figures and the recommendation are of
# such rows.

# %%
configs = an.configs(run)
front = an.pareto_front(configs)
an.plot.speed_accuracy(run)

# %% [markdown]
# What does one knob do? Compare configs that differ in it **alone**: a mean over all others mixes
# what they do into it. `effects` takes all such pairs of the run.

# %%
result = an.effects(run)
result[["knob", "reference", "value", "metric", "effect", "low", "high", "num_pairs", "verdict"]]

# %% [markdown]
# And out again, for a spreadsheet or another program.

# %%
with tempfile.TemporaryDirectory() as folder:
    written = [path.name for path in an.export(run, folder, format="csv")]
written

# %%
decided = result[~result["verdict"].isin(["not decided", "no pair"])]
print(
    f"Of {len(run.trials)} trials {len(done)} completed, {len(configs)} configs in all, "
    f"{len(front)} of them on the front. {len(decided)} of {len(result)} effects are decided."
)
