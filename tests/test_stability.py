"""The page of promised names against what the packages export; the citation's version."""

import ast
import re
from collections.abc import Iterable

import pytest
import yaml  # type: ignore[import-untyped]

import orchestrator
import orchestrator.analysis
import orchestrator.search
import orchestrator.tracking
from orchestrator.driver.options.options import DECLARATIONS
from orchestrator.metric_table import METRICS
from orchestrator.storage.files import RunFile
from orchestrator.storage.history import TRIAL_COLUMNS
from orchestrator.storage.tables import CURVE_COLUMNS, TAG_COLUMNS
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")


def promised(heading: str) -> list[str]:
    """Return the names in the table below a heading, stable and experimental ones."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (?:stable|experimental) \| (.*) \|$", section, re.MULTILINE)
    return re.findall(r"`([^`]+)`", " ".join(rows))


def exported(module: str) -> Iterable[str]:
    """Return ``__all__`` of a module that may lack its framework."""
    path = ROOT.joinpath(*module.split(".")).with_suffix(".py")
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    raise AssertionError(f"{module} has no __all__")


@pytest.mark.parametrize(
    ("heading", "names"),
    [
        ("orchestrator", orchestrator.__all__),
        ("orchestrator.search", orchestrator.search.__all__),
        ("orchestrator.analysis", orchestrator.analysis.__all__),
        ("orchestrator.tracking", orchestrator.tracking.__all__),
        *(
            (module, exported(module))
            for module in (
                "orchestrator.measurement.run",
                "orchestrator.integrations.lightning",
                "orchestrator.integrations.transformers",
            )
        ),
        ("Command line", ["--" + name.replace("_", "-") for name in DECLARATIONS]),
        ("Run directory", list(RunFile)),
        ("Columns of the tables", {*TRIAL_COLUMNS, *CURVE_COLUMNS, *TAG_COLUMNS}),
        ("Figures", METRICS),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_exported_name_has_one_promise(heading: str, names: Iterable[str]) -> None:
    assert sorted(promised(heading)) == sorted(names)


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == orchestrator.__version__
    assert {"cff-version", "message", "title", "authors", "license"} <= set(citation)
