# %% [markdown]
# # What does memory buy?
#
# Three objectives: samples a second, AUC on validation, and memory. Loader workers that read Python
# lists copy their pages one by one, since each read changes a reference count: memory grows from
# epoch to epoch. Arrays and tensors stay shared.

# %%
import os

import orchestrator.analysis as an

RECORDED = an.NOTEBOOKS / "recorded"
RUN = os.environ.get("RUN", RECORDED / "graph_memory")
run = an.load(RUN)
configs = an.configs(run)

# %% [markdown]
# ## Three objectives
#
# A config is on the front where none is better in one objective and as good in the others.

# %%
front = an.pareto_front(configs)
an.plot.speed_accuracy(run)

# %% [markdown]
# ## Peak and growth

# %%
knobs = ["params.pair_container", "params.num_workers", "params.embedding", "params.graph_scope"]
memory = ["metrics.peak_pss_gib", "metrics.worker_growth_mib_per_epoch"]
result = configs[[*knobs, "metrics.samples_per_s", "metrics.val_auc", *memory, "on_front"]]
result = result.sort_values("metrics.peak_pss_gib", ignore_index=True).round(4)
result

# %% [markdown]
# ## Pairs: what the container costs

# %%
effects = an.effects(run, on="peak_pss_gib")
containers = effects[effects["knob"] == "pair_container"]
containers[["reference", "value", "kind", "effect", "low", "high", "num_pairs", "verdict"]]

# %%
growth = configs.groupby("params.pair_container")["metrics.worker_growth_mib_per_epoch"].median()
if growth.notna().any():
    grown = ", ".join(f"{name} {mib:.1f}" for name, mib in growth.dropna().items())
    found = f"workers grow by so many MiB an epoch: {grown}"
else:
    found = "the growth of the workers was not measured"
least, most = configs["metrics.peak_pss_gib"].min(), configs["metrics.peak_pss_gib"].max()
print(
    f"{len(front)} of {len(configs)} configs are on the front, from {least:.2f} to {most:.2f} GiB; "
    f"{found}."
)
