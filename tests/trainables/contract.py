"""Cases of test_contract.py: every trainable, and how to try each of its knobs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator import DataSet, Machine, Node, Trainable
from orchestrator.space.configs import canonical, knobs_of, replaced
from orchestrator.space.knob import Knob, Role
from trainables.data.sets.digits import DIGITS
from trainables.data.sets.mag_synthetic import MAG_SYNTHETIC
from trainables.data.sets.products_synthetic import PRODUCTS_SYNTHETIC
from trainables.graphsage import SageConfig, graphsage
from trainables.lenet import LeNetConfig, lenet
from trainables.mlp import MlpConfig, mlp
from trainables.node_embedding import NodeEmbeddingConfig, node_embedding
from trainables.rgat import RgatConfig, rgat

HERE = Machine(nodes=(Node(name="here", cpus=2),))
WITH_GPU = Machine(nodes=(Node(name="there", cpus=8, gpus=1),))


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Value of a knob to try, in a config in which it means something."""

    knob: Knob  # the knob
    value: object  # its value
    context: Mapping[str, object]  # further values over the case's quick config

    def __str__(self) -> str:
        return f"{self.knob.name}={self.value}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """Trainable, and how to try its knobs in seconds."""

    trainable: Trainable[Any]  # the trainable
    data: DataSet  # a small data set
    quick: Any  # a config with ten steps an epoch
    # Values to try of knobs that are numbers; other knobs list their values
    values: Mapping[str, tuple[object, ...]]
    # For knobs that mean something only with others, those others
    contexts: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    # Knobs with values that need separate processes; the test that has them
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    # The trainable's systems knobs, which do not change the loss; the test of each one's effect
    effects: Mapping[str, str] = field(default_factory=dict)
    # Values with which a CPU and a GPU draw the same random numbers: no others can be expected to
    # have the same loss on both
    same_on_gpu: Mapping[str, object] = field(default_factory=dict)

    def settings(self, *roles: Role) -> Iterator[Setting]:
        """Yield all values to try of the knobs with these roles."""
        for name, knob in knobs_of(self.quick).items():
            if knob.role in roles and name not in self.elsewhere:
                for value in knob.options or self.values[name]:
                    context = self.contexts.get(f"{name}={value}", self.contexts.get(name, {}))
                    yield Setting(knob=knob, value=value, context=context)

    def large_batches(self) -> Any:  # noqa: ANN401
        """Return the quick config with two steps an epoch, the second one smaller."""
        return replaced(self.quick, {"batch_size": 5 * self.quick.batch_size})

    def config(self, setting: Setting, *, unset: bool = False) -> Any:  # noqa: ANN401
        """Return the canonical config with a setting; or the quick one in the same context."""
        value = getattr(self.quick, setting.knob.name) if unset else setting.value
        return canonical(replaced(self.quick, {**setting.context, setting.knob.name: value}))


def is_a_test(name: str) -> bool:
    """Return True if a file in or below this folder has a test of this name."""
    files = Path(__file__).parent.rglob("test_*.py")
    return any(f"def {name}(" in file.read_text() for file in files)


OF_PROCESSES: Mapping[str, str] = {
    "allocator": "test_an_allocator_changes_nothing_that_is_learned",
    "loader_cores": "test_workers_have_the_cores_that_the_threads_leave",
}
"""Knobs of a process that are set at its start."""
COMPILED = {"compile": "test_what_is_compiled_learns_the_same"}
PROCESS_VALUES = {"threads": (1, 2), "log_every": (0, 3), "eval_every": (1, 2)}
LOADER_VALUES = {"num_workers": (0, 2), "prefetch_factor": (2, 3)}
PLACE_VALUES = {"cache_gib": (0.0, 1e-4), "accumulate": (1, 3)}
PLACE_EFFECTS = {
    "sampling": "test_what_is_sampled_where_training_is_is_what_the_loader_samples",
    "cache_gib": "test_a_cache_has_the_nodes_with_the_most_neighbours",
}
IMAGE_VALUES = {"lr": (0.05, 0.02), "momentum": (0.9, 0.5, 0.0), "batch_size": (132, 66)}
LOADER_CONTEXTS: Mapping[str, Mapping[str, object]] = {
    "prefetch_factor": {"num_workers": 1},
    "persistent_workers": {"num_workers": 1},
    "non_blocking": {"pin_memory": True},
    "prefetch=stream": {"pin_memory": True},
}

CASES = (
    Case(
        trainable=lenet,
        data=DIGITS,
        quick=LeNetConfig(batch_size=132, lr=0.05, threads=1, data_path="batched"),
        values={**PROCESS_VALUES, **LOADER_VALUES, **IMAGE_VALUES},
        contexts={**LOADER_CONTEXTS, "lr_scaling": {"batch_size": 66}},
        elsewhere={
            **OF_PROCESSES,
            "parallel": "test_ranks_learn_what_one_process_learns",
            "ranks": "test_ranks_learn_what_one_process_learns",
            **COMPILED,
        },
        effects={
            "data_path": "test_each_data_path_fetches_in_its_own_way",
            "channels_last": "test_channels_last_keeps_the_channels_of_a_pixel_together",
        },
    ),
    Case(
        trainable=mlp,
        data=DIGITS,
        quick=MlpConfig(batch_size=132, lr=0.05, threads=1, data_path="batched"),
        values={**PROCESS_VALUES, **LOADER_VALUES, **IMAGE_VALUES},
        contexts={**LOADER_CONTEXTS, "input_scale=raw": {"lr": 1e-4}},
        elsewhere={**OF_PROCESSES, **COMPILED},
        effects={
            "data_path": "test_each_way_fetches_as_declared",
            "data_placement": "test_each_way_fetches_as_declared",
        },
    ),
    Case(
        trainable=graphsage,
        data=PRODUCTS_SYNTHETIC.at("0.002"),  # 490 training nodes
        quick=SageConfig(batch_size=50, fanouts=(4, 5), hidden=16, lr=0.01, threads=1),
        values={
            **PROCESS_VALUES,
            **LOADER_VALUES,
            **PLACE_VALUES,
            "lr": (0.01, 0.005),
            "weight_decay": (0.0, 0.01),
            "dropout": (0.5, 0.2),
            "hidden": (16, 8),
            "layers": (2, 3),
            "fanouts": ((4, 5), (3, 3), (-1, 5)),
            "batch_size": (50, 98),
        },
        contexts={**LOADER_CONTEXTS, "layers": {"mode": "full"}, "lr_scaling": {"batch_size": 98}},
        elsewhere={
            **OF_PROCESSES,
            **COMPILED,
            "ranks": "test_ranks_learn_what_one_process_learns",
            "hold_out": "test_without_it_validation_nodes_are_trained_on",
            "graph_scope": "test_the_largest_component_s_nodes_alone_are_trained_on",
        },
        effects={
            **PLACE_EFFECTS,
            "feature_placement": "test_placed_on_the_host_features_are_a_copy_of_the_file_s",
        },
        same_on_gpu={"dropout": 0.0},
    ),
    Case(
        trainable=rgat,
        data=MAG_SYNTHETIC.at("1e-5"),  # 294 training nodes
        quick=RgatConfig(
            batch_size=30,
            fanouts=(3, 4),
            eval_fanouts=(8, 8),
            eval_batch_size=41,
            hidden=16,
            heads=2,
            lr=0.01,
            threads=1,
        ),
        values={
            **PROCESS_VALUES,
            **LOADER_VALUES,
            **PLACE_VALUES,
            "lr": (0.01, 0.005),
            "lr_step": (25, 1),
            "lr_decay": (0.25, 0.5),
            "dropout": (0.5, 0.2),
            "hidden": (16, 8),
            "heads": (2, 4),
            "fanouts": ((3, 4), (2, 2), (-1, 4)),
            "batch_size": (30, 60),
            "weight_decay": (0.0, 0.01),
            "eval_batch_size": (41, 10),
            "test_batch_size": (16, 10),
            "mapped_gib": (4.0, 0.001),
        },
        contexts={**LOADER_CONTEXTS, "lr_decay": {"lr_step": 1}, "lr_scaling": {"batch_size": 60}},
        elsewhere={
            **OF_PROCESSES,
            **COMPILED,
            "ranks": "test_ranks_share_each_batch_and_learn_alike",
            "hold_out": "test_without_it_validation_nodes_are_trained_on",
            "eval_fanouts": "test_eval_fanouts_change_the_accuracy_and_not_the_training",
            "test_fanouts": "test_validation_and_test_go_by_their_own_fanouts_and_batches",
            "embedding_init": "test_learnable_vectors_begin_small_or_normal",
            "eval_every": "test_eval_every_sets_the_epochs_of_the_best_model",
            "submission": "test_test_predictions_of_the_best_model_are_handed_in",
        },
        effects={
            **PLACE_EFFECTS,
            "feature_placement": "test_placed_on_the_host_features_are_a_copy_of_the_file_s",
            "eval_batch_size": "test_validation_and_test_go_by_their_own_fanouts_and_batches",
            "test_batch_size": "test_validation_and_test_go_by_their_own_fanouts_and_batches",
            "mapped_gib": "test_features_may_exceed_memory_and_what_is_kept_of_them_is_bounded",
        },
        same_on_gpu={"dropout": 0.0},
    ),
    Case(
        trainable=node_embedding,
        data=PRODUCTS_SYNTHETIC.at("0.002"),  # 4,898 nodes
        # How many rows a sparse gradient has depends on the pairs that happen to be drawn.
        quick=NodeEmbeddingConfig(
            embedding="dense",
            batch_size=100,
            epoch_pairs=980,
            dims=16,
            neighbours=20,
            negatives=20,
            walk_length=5,
            walks_per_node=1,
            window=2,
            lr=0.05,
            threads=1,
        ),
        values={
            **PROCESS_VALUES,
            **LOADER_VALUES,
            "lr": (0.05, 0.02),
            "dims": (16, 8),
            "walk_length": (5, 8),
            "walks_per_node": (1, 2),
            "walk_processes": (0, 2),
            "window": (2, 3),
            "epoch_pairs": (980, 1400),
            "neighbours": (20, 5),
            "negatives": (20, 5),
            "batch_size": (100, 98),
        },
        contexts={
            **LOADER_CONTEXTS,
            "amp=fp16": {"placement": "gpu"},
            "pin_memory": {"placement": "gpu"},
            "non_blocking": {"placement": "gpu", "pin_memory": True},
            "prefetch=stream": {"placement": "gpu", "pin_memory": True},
            "lr_scaling": {"batch_size": 98},
        },
        elsewhere={
            **OF_PROCESSES,
            "ranks": "test_ranks_learn_what_one_process_learns",
            "graph_scope": "test_the_largest_component_s_nodes_alone_have_rows",
        },
        effects={
            "placement": "test_tables_are_where_placement_puts_them",
            "walk_processes": "test_as_many_processes_draw_the_walks_as_are_asked_for",
            "pair_container": "test_a_list_of_pairs_grows_in_the_workers_and_arrays_do_not",
        },
    ),
)
