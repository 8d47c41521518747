"""Which batches count as the same, and what of a run's learning a trial of speed only keeps."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pytest
import torch

from orchestrator.measurement.fingerprint import NUM_BATCHES, Fingerprint
from orchestrator.measurement.run import Context, Run
from orchestrator.measurement.trial_figures import figures, verdicts
from orchestrator.trial import Budget, Stage
from tests.trainables.running import Reports

IMAGES = torch.rand(4, 3)
LABELS = torch.tensor([3, 1, 2, 0])


class Named(NamedTuple):
    images: torch.Tensor
    labels: torch.Tensor


@dataclass
class Made:
    images: torch.Tensor
    labels: torch.Tensor


class Unknown:
    labels = LABELS


def hash_of(*batches: object) -> str:
    fingerprint = Fingerprint()
    for batch in batches:
        fingerprint.add_batch(batch)
    return fingerprint.batches


def test_the_same_labels_in_any_container_and_type_are_the_same() -> None:
    batches: list[object] = [
        (IMAGES, LABELS),
        [IMAGES.double() * 2, LABELS.int()],
        {"images": IMAGES, "labels": LABELS.numpy()},
        Named(IMAGES, LABELS),
        Made(IMAGES, LABELS),
        (IMAGES, (LABELS, Unknown(), None)),
    ]
    assert len({hash_of(batch) for batch in batches}) == 1


@pytest.mark.parametrize(
    "other",
    [(IMAGES, LABELS.flip(0)), (IMAGES, LABELS[:3]), (IMAGES, LABELS, "text"), (IMAGES, LABELS, 4)],
)
def test_other_whole_numbers_or_text_are_another(other: object) -> None:
    assert hash_of(other) != hash_of((IMAGES, LABELS))


def test_floats_count_where_there_is_nothing_else() -> None:
    assert hash_of(IMAGES) == hash_of([IMAGES.double().numpy()]) != hash_of(IMAGES + 1)
    assert hash_of(IMAGES.bfloat16()) == hash_of(IMAGES.bfloat16().float())


def test_what_is_not_known_has_no_hash() -> None:
    assert hash_of(Unknown(), None) == ""


def test_a_batch_may_declare_what_identifies_it() -> None:
    class Looked(NamedTuple):
        ids: torch.Tensor
        rows: torch.Tensor

        def identity(self) -> torch.Tensor:
            return self.ids

    rows = torch.arange(4)
    assert hash_of(Looked(LABELS, rows)) == hash_of(Looked(LABELS, rows + 1)) == hash_of(LABELS)


def test_edges_of_every_kind_of_a_dgl_graph_count() -> None:
    dgl = pytest.importorskip("dgl")

    def graph(*ends: list[int]) -> object:
        return dgl.heterograph({("a", "r", "b"): ([0, 1], [1, 0]), ("b", "s", "a"): ends})

    assert hash_of(graph([0], [1])) == hash_of(graph([0], [1])) != hash_of(graph([0], [0]))


def endless() -> list[object]:
    batch: list[object] = []
    batch.append(batch)
    return batch


class Failing:
    def identity(self) -> torch.Tensor:
        raise KeyError("ids")


@pytest.mark.parametrize(
    "batch",
    [
        endless(),
        Failing(),
        torch.nested.nested_tensor([LABELS, LABELS[:2]]),
        torch.empty(3, device="meta"),
        torch.quantize_per_tensor(IMAGES, 0.1, 0, torch.qint8),
    ],
    ids=["endless", "failing", "nested", "meta", "quantized"],
)
def test_a_batch_that_cannot_be_hashed_ends_nothing(batch: object) -> None:
    assert hash_of(LABELS, batch) == ""


def test_a_loss_of_several_numbers_ends_nothing() -> None:
    fingerprint = Fingerprint()
    fingerprint.add_loss(torch.ones(2))
    assert fingerprint.first_loss is None


# -- within a run


def run_over(
    batches: list[torch.Tensor],
    *,
    stage: Stage = Stage.PROBE,
    evaluated: bool = False,
    num_ranks: int = 1,
) -> tuple[Run, Reports]:
    """Return a run that was through ``batches`` in one epoch, and reported."""
    reports = Reports()
    budget = Budget(epochs=1, evaluated=evaluated)
    run = Run(Context(seed=0, budget=budget, stage=stage, world_size=num_ranks), reports)
    for _ in run.epochs():
        for step, _ in enumerate(run.batches(batches, samples=lambda _: 1)):
            run.first_loss(torch.tensor(2.5) / (step + 1))
        run.report(train_loss=0.5, val_acc=0.75, kteps=3.0)
    return run, reports


BATCHES = [torch.tensor([i]) for i in range(NUM_BATCHES + 1)]


def test_a_probe_has_the_hash_of_its_first_batches() -> None:
    run, _ = run_over(BATCHES)
    assert verdicts(run.recording())["batches"] == hash_of(*BATCHES[:NUM_BATCHES])


@pytest.mark.parametrize(("stage", "num_ranks"), [(Stage.TRAIN, 1), (Stage.PROBE, 2)])
def test_others_have_none_nor_ranks_that_share_a_batch(stage: Stage, num_ranks: int) -> None:
    run, _ = run_over(BATCHES, stage=stage, num_ranks=num_ranks)
    assert "batches" not in verdicts(run.recording())


def test_it_has_the_loss_of_its_first_step() -> None:
    run, reports = run_over(BATCHES)
    assert figures(run.recording())["first_loss"] == 2.5
    assert reports.metric("first_loss") == [2.5]
    run, reports = run_over(BATCHES, stage=Stage.TRAIN)
    assert not reports.metric("first_loss")


def test_batches_are_hashed_outside_of_the_steps() -> None:
    now = 0.0

    class Slow:
        """A batch that takes seconds to hash."""

        def identity(self) -> torch.Tensor:
            nonlocal now
            now += 5.0
            return torch.tensor([1])

    def loaded() -> Iterator[Slow]:
        nonlocal now
        for _ in range(NUM_BATCHES + 2):
            now += 1.0
            yield Slow()

    context = Context(seed=0, budget=Budget(epochs=1), stage=Stage.PROBE)
    run = Run(context, Reports(), clock=lambda: now)
    for _ in run.epochs():
        for _ in run.batches(loaded(), samples=lambda _: 1):
            pass
    assert now == 5.0 * NUM_BATCHES + NUM_BATCHES + 2
    assert sum(block.duration_s for block in run.recording().blocks) == NUM_BATCHES + 2


def test_a_trial_of_speed_alone_keeps_no_figures_of_what_it_learned() -> None:
    _, reports = run_over(BATCHES)
    metrics = reports.kept[-1].metrics
    assert metrics["kteps"] == 3.0
    assert metrics["steps"] == len(BATCHES)
    assert not {"val_acc", "train_loss"} & set(metrics)
    _, reports = run_over(BATCHES, evaluated=True)
    assert {"val_acc", "train_loss"} <= set(reports.kept[-1].metrics)
