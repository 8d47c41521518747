# %% [markdown]
# # Where does a step's time go when the model is tiny?
#
# A small network on MNIST takes a fraction of a millisecond a step. Fetching images one by one, in
# Python, takes longer; handing them from worker to trainer takes longer still. The study behind
# this sweep found workers a loss, and a full batch on the device thirty times as fast an epoch.

# %%
import os

import orchestrator.analysis as an

RECORDED = an.NOTEBOOKS / "recorded"
RUN = os.environ.get("RUN", RECORDED / "mnist_dataloader")
run = an.load(RUN)
configs = an.configs(run)

# %% [markdown]
# ## Phases of a step
#
# Bars are milliseconds for as many samples each. `wait` is the wait for the batch.

# %%
an.plot.steps(run)

# %%
phases = ["wait", "transfer", "forward", "backward", "optimizer"]
columns = [f"metrics.{phase}_ms" for phase in phases]
share = configs[columns].div(configs["metrics.step_ms"], axis="index")
share.columns = phases
knobs = ["params.batching", "params.data_path", "params.num_workers"]
result = configs[[*knobs, "metrics.samples_per_s"]].join(share).round(3)
result = result.sort_values("metrics.samples_per_s", ascending=False, ignore_index=True)
result

# %% [markdown]
# ## Image by image, or batch by batch
#
# `batched` indexes whole batches instead of images. The pair of configs that differ in it alone
# tells what that brings.

# %%
effects = an.effects(run, on="samples_per_s")
effects[["knob", "reference", "value", "effect", "low", "high", "num_pairs", "verdict"]]

# %% [markdown]
# ## A full batch, at equal time
#
# A full batch has the most samples a second and takes one step an epoch. What counts is the
# accuracy after the same time: the curves over time answer that, those over samples do not.

# %%
an.plot.curves(run)

# %%
times = an.time_to_accuracy(run)
times[[*knobs, "reached_s", "trained_s", "metrics.val_acc"]]

# %%
fastest = result.iloc[0]
waiting = result[result["params.batching"] == "mini"]["wait"].max()
soonest = times.iloc[0]
when = (
    f"{soonest['params.batching']} batches reach {soonest['target']:.1%} first, "
    f"after {soonest['reached_s']:.1f} s"
    if soonest["num_reached"]
    else f"no config reached {soonest['target']:.1%}"
)
print(
    f"With mini-batches up to {waiting:.0%} of a step is waiting. The most samples a second has "
    f"batching={fastest['params.batching']}, data_path={fastest['params.data_path']}; {when}."
)
