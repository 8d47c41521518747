# %% [markdown]
# # Is the next batch fetched meanwhile?
#
# RGAT reads features of thousands of nodes a batch from disk. While one batch is trained on, a
# thread or a CUDA stream can bring the next one. A step then waits less, but never less than the
# slower of the two takes: how much is left to win?

# %%
import os

import orchestrator.analysis as an

RECORDED = an.NOTEBOOKS / "recorded"
RUN = os.environ.get("RUN", RECORDED / "mag240m_prefetch")
run = an.load(RUN)
configs = an.configs(run)

# %% [markdown]
# ## Wait, copy, read-back
#
# `wait_ms` is the wait for the batch, `transfer_ms` the copy within the step, `copy_ms` that beside
# it, on a GPU. `log_every=1` reads the loss back in every step, which waits for the device.

# %%
an.plot.steps(run)

# %%
parts = ["metrics.step_ms", "metrics.wait_ms", "metrics.transfer_ms", "metrics.copy_ms"]
knobs = ["params.prefetch", "params.num_workers", "params.batch_size", "params.log_every"]
result = configs[[*knobs, "metrics.samples_per_s", *parts]].round(3)
result = result.sort_values("metrics.samples_per_s", ascending=False, ignore_index=True)
result

# %% [markdown]
# ## What each setting brings

# %%
effects = an.effects(run, on="samples_per_s")
effects[["knob", "reference", "value", "effect", "low", "high", "num_pairs", "verdict"]]

# %% [markdown]
# ## Headroom
#
# With a free loader a step would be as long as it is without the wait. The ratio is the most that
# any loader setting can still bring.

# %%
step, wait = configs["metrics.step_ms"], configs["metrics.wait_ms"]
headroom = configs[knobs].assign(headroom=step / (step - wait)).round(3)
headroom.sort_values("headroom", ignore_index=True)

# %%
prefetch = effects[effects["knob"] == "prefetch"]
lost = run.trials[run.trials["state"] == "infeasible"]
if prefetch.empty or not prefetch["num_pairs"].sum():
    found = "no two configs differ in prefetch alone"
else:
    pair = prefetch[prefetch["num_pairs"] > 0].iloc[0]
    found = (
        f"prefetch={pair['value']} trains {pair['effect']:.2f} times as fast as "
        f"{pair['reference']} ({pair['low']:.2f} to {pair['high']:.2f}): {pair['verdict']}"
    )
print(
    f"Here {found}. The most that a free loader could bring is {headroom['headroom'].max():.2f} "
    f"times; {len(lost)} trials needed what this machine lacks."
)
