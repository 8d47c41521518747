"""The scripts of docs/data.md write sets that can be trained on as they are."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator import Trainable
from orchestrator.data import DataFolders, find_data
from orchestrator.errors import DataError
from tests.conftest import ROOT
from tests.trainables.running import context, train_once
from trainables.data.formats.ogb_loader import node_set_release
from trainables.data.sets.digits import DIGITS
from trainables.graphsage import SageConfig, graphsage
from trainables.lenet import LeNetConfig, lenet
from trainables.node_embedding import NodeEmbeddingConfig, node_embedding

GRAPH, IMAGES = re.findall(
    r"^```python\n(.*?)^```", (ROOT / "docs/data.md").read_text(), re.M | re.S
)


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


def test_a_missing_library_is_named(folders: DataFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(DataError, match="the data set digits needs the package scikit-learn"):
        DIGITS.prepare(folders)
    monkeypatch.delitem(sys.modules, "ogb", raising=False)
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(DataError, match="reading OGB's layouts needs the package ogb"):
        node_set_release("ogbn-products")
