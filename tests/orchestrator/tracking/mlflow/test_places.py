"""Where runs are in MLflow, and the commands that open them."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from orchestrator.errors import SweepError
from orchestrator.tracking.mlflow import checked_uri
from orchestrator.tracking.mlflow.places import beside_a_proxy, default_uri, how_to_open


def test_the_command_for_mlflow_can_be_typed_as_it_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    uri = f"sqlite:///{tmp_path}/my runs/m.db"
    monkeypatch.setattr(sys, "executable", str(tmp_path / "my python" / "python"))
    command, then = how_to_open(uri, "1", "2")
    words = shlex.split(command)
    program = ["my python/python", "-m", "mlflow"]
    assert words == [*program, "ui", "--backend-store-uri", "sqlite:///my runs/m.db"]
    assert then.startswith("then http://127.0.0.1:5000/#/experiments/1/runs/2?")


def test_a_relative_database_is_found_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert checked_uri("sqlite:///runs/m.db") == f"sqlite:///{tmp_path}/runs/m.db"
    command, _ = how_to_open(checked_uri("sqlite:///runs/m.db"), "1", "2")
    assert command.endswith("ui --backend-store-uri sqlite:///runs/m.db")


@pytest.mark.parametrize("name", ["h?y", "50%20off", "n\nl", "caf\udce9"])
def test_a_folder_that_no_uri_names_is_refused_by_its_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(SweepError, match="MLflow cannot keep its database there: the path") as got:
        default_uri(tmp_path / name)
    assert str(tmp_path) in got.value.message
    assert "\n" not in got.value.message
    assert "--tracking-uri sqlite:////FOLDER/mlflow.db, or --no-mlflow" in got.value.hint


@pytest.mark.parametrize("name", ["a b", "x#y", "50%", "\u00e9"])
def test_other_folders_have_the_database(tmp_path: Path, name: str) -> None:
    assert checked_uri(default_uri(tmp_path / name)) == f"sqlite:///{tmp_path}/{name}/mlflow.db"


def test_the_address_opens_the_run_among_models_not_prompts() -> None:
    page = "#/experiments/1/runs/2?workflowType=machine_learning"
    assert how_to_open("http://host:5000/", "1", "2") == [f"http://host:5000/{page}"]
    assert how_to_open("http://me:secret@host", "1", "2") == [f"http://***@host/{page}"]
    assert how_to_open("databricks", "1", "2") == ["experiment 1, run 2 at databricks"]


def test_no_proxy_is_asked_for_a_server_on_this_machine() -> None:
    here, proxy = "localhost,127.0.0.1,::1", {"HTTP_PROXY": "http://proxy:3128"}
    assert beside_a_proxy({"NO_PROXY": "a"}) == {}, "there is none"
    assert beside_a_proxy(proxy) == {"no_proxy": here}
    assert beside_a_proxy({**proxy, "NO_PROXY": "a, b"}) == {"no_proxy": f"a,b,{here}"}
    assert beside_a_proxy({**proxy, "no_proxy": "127.0.0.1", "NO_PROXY": "a"}) == {
        "no_proxy": "127.0.0.1,localhost,::1"
    }
