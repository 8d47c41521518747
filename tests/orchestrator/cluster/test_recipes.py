"""Recipes that cannot be run here are checked against what they name."""

import re
import shlex
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.conftest import ROOT, RunCli
from tests.helping import ran

RECIPES = ROOT / "docs/recipes"
PAGES = [ROOT / "docs/clusters.md", RECIPES / "sweep.sbatch", *sorted(RECIPES.glob("*.md"))]


@pytest.fixture(scope="module")
def job() -> dict[str, Any]:
    return yaml.safe_load((RECIPES / "rayjob.yaml").read_text())


def pods_of(job: dict[str, Any]) -> list[dict[str, Any]]:
    cluster = job["spec"]["rayClusterSpec"]
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    return [job["spec"]["submitterPodTemplate"], *(group["template"] for group in groups)]


def test_the_ray_job_is_of_the_ray_that_the_image_has(job: dict[str, Any]) -> None:
    assert job["spec"]["rayClusterSpec"]["rayVersion"] == version("ray")


def test_every_pod_has_the_token_and_the_volumes_that_it_mounts(job: dict[str, Any]) -> None:
    for pod in pods_of(job):
        volumes = {volume["name"] for volume in pod["spec"].get("volumes", ())}
        for container in pod["spec"]["containers"]:
            names = {variable["name"] for variable in container["env"]}
            assert {"RAY_AUTH_MODE", "RAY_AUTH_TOKEN"} <= names
            assert {mount["name"] for mount in container.get("volumeMounts", ())} <= volumes


def test_the_entry_point_of_the_ray_job_starts_the_sweep_or_resumes(
    job: dict[str, Any], run_cli: RunCli
) -> None:
    shell, flag, script = shlex.split(job["spec"]["entrypoint"])
    assert (shell, flag) == ("bash", "-c")
    script = script.replace("/app/", f"{ROOT}/").replace("exec python -m orchestrator", "echo")
    out = ran(shell, flag, script).stdout
    arguments = [word for word in out.split() if word != "--out" and not word.startswith("/runs")]
    run_cli(*arguments, "--plan")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page_are_bash(page: Path) -> None:
    text = page.read_text()
    if page.suffix != ".sbatch":  # its indented lines
        text = "\n".join(re.findall(r"^    (?! )(.*)$", text, re.MULTILINE))
    assert text
    ran("bash", "-n", input=text)


def test_the_docker_file_copies_what_there_is_and_installs_extras_that_there_are() -> None:
    text = (RECIPES / "Dockerfile").read_text()
    for line in re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE):
        for name in line.split():
            assert (ROOT / name).exists(), name
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = re.search(r'"\.\[([\w,]+)\]"', text)
    assert set(extras[1].split(",")) <= set(project["optional-dependencies"])
    python = re.search(r"^FROM python:(\d\.\d+)", text, re.MULTILINE)
    assert f"Programming Language :: Python :: {python[1]}" in project["classifiers"]
