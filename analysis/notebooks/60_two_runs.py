# %% [markdown]
# # Has it become slower?
#
# Two runs of a sweep: before and after an upgrade, or last night's and tonight's. They are compared
# config by config. What all configs have in common may be the machine on the day; what one has
# beyond that is its own.

# %%
import os

import orchestrator.analysis as an

RECORDED = an.NOTEBOOKS / "recorded"
RUN = os.environ.get("RUN", RECORDED / "products_loader")
OLDER = os.environ.get("OLDER", RECORDED / "products_loader_before")
before, after = an.load(OLDER), an.load(RUN)

# %% [markdown]
# ## What differs
#
# Speeds of two machines, or of two versions of PyTorch, are not compared unless that is the
# question: `across=["versions.torch"]` says so.

# %%
asked = [(run.sweep.command_line, run.sweep.versions.get("torch")) for run in (before, after)]
asked

# %% [markdown]
# ## The verdict
#
# With `tolerance=0.03` a loss of less than 3 % is none. A regression is one only where its 95 %
# interval lies beyond that.

# %%
compared = an.compare(before, after, tolerance=0.03)
result = compared.changes
result

# %% [markdown]
# In a pipeline the command line says the same by its exit code, 1 for a regression:
#
#     orchestrator compare OLDER RUN --tolerance 0.03

# %%
print(compared.sentence)
