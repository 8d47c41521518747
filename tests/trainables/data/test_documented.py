"""The scripts of docs/data.md write sets that can be trained on as they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from orchestrator import Trainable
from orchestrator.data import find_data
from tests.conftest import ROOT
from tests.trainables.running import context, train_once
from trainables.graphsage import SageConfig, graphsage
from trainables.lenet import LeNetConfig, lenet
from trainables.node_embedding import NodeEmbeddingConfig, node_embedding

GRAPH, IMAGES = re.findall(
    r"^```python\n(.*?)^```", (ROOT / "docs/data.md").read_text(), re.M | re.S
)


@pytest.mark.parametrize("script", [GRAPH, IMAGES], ids=["graph", "images"])
def test_a_script_has_about_twenty_lines(script: str) -> None:
    assert sum(bool(line.strip()) for line in script.splitlines()) <= 20


@pytest.mark.parametrize(
    ("script", "folder", "trainable", "config", "figure", "least"),
    [
        (GRAPH, "my_graph", graphsage, SageConfig(lr=0.02, threads=1), "test_acc", 0.9),
        (GRAPH, "my_graph", node_embedding, NodeEmbeddingConfig(threads=1), "test_auc", 0.6),
        (
            IMAGES,
            "my_images",
            lenet,
            LeNetConfig(lr=0.05, batch_size=50, data_path="batched", threads=1),
            "test_acc",
            0.9,
        ),
    ],
    ids=["graphsage", "node_embedding", "lenet"],
)
def test_what_a_script_writes_is_trained_on(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    folder: str,
    trainable: Trainable[Any],
    config: object,
    figure: str,
    least: float,
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(script, "docs/data.md", "exec"), {})
    where = context(find_data(trainable.data, folder), epochs=5, evaluate_test=True)
    assert where.data.name == folder.replace("_", "-")
    [reached] = train_once(trainable, config, where).metric(figure)
    assert reached > least
