"""Sweep: where does the memory of training on a large graph go, and what does saving it cost?

Practice for large graphs has four pieces of advice: hold training pairs in arrays, since
loader workers that read a list of Python objects grow; give embeddings sparse gradients, or
keep their table on the CPU; train on the largest component alone; and do not expect fewer
workers to cure the growth. No figures came with it: here each has one. The metric
``worker_growth_mib_per_epoch`` is the growth, ``peak_pss_gib`` the memory of all processes
with shared pages counted once.

The generated graph is one component, so that the third piece of advice changes nothing
there: it is about the real one. A training for each component apart is not asked about: a
walk does not leave its component, so with ``graph_scope=all`` each node's pairs are of its own
component already, and components beside the largest are too small to train anything on.
"""

from orchestrator import Grid, Machine, Published, Rigor, Sweep, choice, maximize, minimize
from trainables.node_embedding import NodeEmbeddingConfig, node_embedding

STUDY = "Practice for large graphs with DGL, 2020: advice without figures"


def _wanted(config: NodeEmbeddingConfig, _machine: Machine) -> str | None:
    changed = {
        "pair_container": config.pair_container != "ndarray",
        "num_workers": config.num_workers != 2,
        "embedding": config.embedding != "sparse",
        "placement": config.placement != "cpu",
        "graph_scope": config.graph_scope != "all",
    }
    names = {name for name, is_changed in changed.items() if is_changed}
    together = [{"pair_container", "num_workers"}, {"embedding", "placement"}]
    if len(names) > 1 and names not in together:
        return "one thing at a time; containers with their workers, gradients with their place"
    return None


SWEEP = Sweep(
    node_embedding,
    question="Which containers, gradients and places of a table save memory on a large graph?",
    space=NodeEmbeddingConfig(
        pair_container=choice("list", "ndarray", "tensor"),
        num_workers=choice(2, 1),
        embedding=choice("sparse", "dense"),
        placement=choice("cpu", "gpu"),
        graph_scope=choice("all", "largest_component"),
        persistent_workers=True,
        walks_per_node=1,
        window=2,
        negatives=3,
        lr=0.05,
        epoch_pairs=30_000,
        batch_size=1000,
        eval_every=5,
    ),
    baseline=NodeEmbeddingConfig(
        pair_container="list",
        num_workers=2,
        persistent_workers=True,
        walks_per_node=1,
        window=2,
        negatives=3,
        lr=0.05,
        epoch_pairs=30_000,
        batch_size=1000,
        eval_every=5,
    ),
    constraints=[_wanted],
    epochs=5,
    objectives=[maximize("samples_per_s"), maximize("val_auc"), minimize("peak_pss_gib")],
    search=Grid(),
    rigor=Rigor(max_repeats=2, max_confirm=3, finalists=1),
    data="ogbn-products",
    embedded_data="products-synthetic",
    trial_s={"products-synthetic": 5.5},  # mean of a run on two cores of an AMD EPYC
    published=[
        Published(
            source=STUDY,
            knobs={"pair_container": "list"},
            figures={},
            note="Workers that read lists leak: reference counts break copy-on-write pages. "
            "Fewer workers than cores did not cure it.",
        ),
        Published(
            source=STUDY,
            knobs={"pair_container": "ndarray"},
            figures={},
            note="Arrays and tensors do not leak.",
        ),
        Published(
            source=STUDY,
            knobs={"embedding": "sparse"},
            figures={},
            note="On a GPU a sparse embedding with SparseAdam updates the touched rows only; or "
            "keep the table on the CPU, with two optimizers.",
        ),
        Published(
            source=STUDY,
            knobs={"graph_scope": "largest_component"},
            figures={},
            note="Train on the largest connected component, or on each apart.",
        ),
    ],
)
