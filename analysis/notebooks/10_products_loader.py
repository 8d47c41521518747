# %% [markdown]
# # Do loader workers pay?
#
# GraphSAGE draws the neighbours of each batch on the CPU. A study on a laptop of four cores found
# that three loader workers halve an epoch, and that more bring nothing. Do they pay here, how much
# faster could it be at all, and which learning rate goes with a larger batch?

# %%
import os

import pandas as pd

import orchestrator.analysis as an

RECORDED = an.NOTEBOOKS / "recorded"
RUN = os.environ.get("RUN", RECORDED / "products_loader")
run = an.load(RUN)
an.plot.speed_accuracy(run)

# %% [markdown]
# ## Pairs
#
# Each pair is two configs that differ in the number of workers alone. A factor below 1 is a loss.

# %%
effects = an.effects(run, on="samples_per_s")
workers = effects[(effects["knob"] == "num_workers") & (effects["reference"].astype("str") == "0")]
workers[["reference", "value", "effect", "low", "high", "num_pairs", "verdict"]]

# %% [markdown]
# ## Ceilings
#
# Each trial also ran its loader alone and its model alone. Together they can exceed neither: the
# slower one is the ceiling. Where the measured speed is near it, other settings of the loader have
# nothing left to give.

# %%
scaling = an.scaling(run, knob="num_workers")
an.plot.scaling(run)

# %%
result = scaling[
    [
        "params.num_workers",
        "params.batch_size",
        "params.lr",
        "metrics.samples_per_s",
        "speedup",
        "ceiling_samples_per_s",
    ]
].round(3)
result

# %% [markdown]
# ## Batch size and learning rate
#
# A larger batch takes fewer steps an epoch, so it needs a larger learning rate to learn as much.
# The rate's effect at each batch size shows whether that is so: is it larger for larger batches?

# %%
sizes = run.trials["params.batch_size"]
of_rate = {
    size: an.effects(run.only(sizes == size), on="val_acc").query("knob == 'lr'")
    for size in sorted(sizes.unique())
}
columns = ["reference", "value", "effect", "low", "high", "verdict"]
pd.concat(of_rate, names=["batch_size"])[columns]

# %% [markdown]
# ## The answer

# %%
best = an.recommend(run)
an.plot.ladder(run)

# %%
if workers.empty:
    found = "the run has no pair of configs with and without workers"
else:
    most = workers.sort_values("effect").iloc[-1]
    found = (
        f"{most['value']} workers train {most['effect']:.2f} times as fast as none "
        f"({most['low']:.2f} to {most['high']:.2f}, {most['num_pairs']} pairs): {most['verdict']}"
    )
print(f"On this machine {found}.")
