# %% [markdown]
# # Do more processes train faster?
#
# Data parallelism splits each batch over ranks. Samples a second may rise with them, and still
# nothing be won: larger batches take more samples to the same accuracy. Goodput is the product,
# samples a second times statistical efficiency (as in Pollux, OSDI 2021).

# %%
import os

import orchestrator.analysis as an

RECORDED = an.NOTEBOOKS / "recorded"
RUN = os.environ.get("RUN", RECORDED / "mnist_parallel")
run = an.load(RUN)
an.plot.speed_accuracy(run)

# %% [markdown]
# ## What each setting does to the speed

# %%
effects = an.effects(run, on="samples_per_s")
effects[["knob", "reference", "value", "effect", "low", "high", "num_pairs", "verdict"]]

# %% [markdown]
# ## What more ranks save and cost
#
# Of each number of ranks the config that got there first. `efficiency` is the share of ideal: as
# many times the speed as there are ranks. A step `pays` if it saves a larger share of the time than
# it adds to the device-seconds.

# %%
an.scaling(run, "ranks", best=True)

# %% [markdown]
# ## Goodput
#
# `efficiency` is the samples that the baseline takes to the accuracy over a config's own.

# %%
goodput = an.goodput(run)
knobs = ["params.data_path", "params.ranks", "params.batch_size", "params.lr", "params.lr_scaling"]
result = goodput[[*knobs, "metrics.samples_per_s", "efficiency", "metrics.goodput"]].round(3)
result

# %% [markdown]
# ## Accuracy over time
#
# A learning rate that grows with the batch (`lr_scaling=linear`) can make up for fewer steps.

# %%
an.plot.curves(run)

# %%
reached = goodput.dropna(subset="metrics.goodput")
if reached.empty:
    print(f"No config reached {goodput['target'].iloc[0]:.1%}: what is won cannot be told.")
else:
    best, fastest = reached.iloc[0], goodput.nlargest(1, "metrics.samples_per_s").iloc[0]
    same = "also" if best["params.ranks"] == fastest["params.ranks"] else "not"
    print(
        f"The best goodput has ranks={best['params.ranks']}, batch_size={best['params.batch_size']}"
        f", lr={best['params.lr']:g}; the most samples a second has "
        f"ranks={fastest['params.ranks']}. More samples a second are {same} more progress here."
    )
