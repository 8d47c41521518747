"""SKILL.md and llms.txt, made from the pages: what a coding agent reads first.

    python -m benchmarks.agents

llms.txt has the form of llmstxt.org: each page with its first sentence, in README's order. SKILL.md
has the form of agentskills.io: how to ask, how to read an answer, how to keep or drop a change.
"""

from __future__ import annotations

import re
from typing import Final

from benchmarks.harness import ROOT

NAME: Final = "sweep-orchestrator"
_COMMANDS: Final = "docs/command-line.md"
_LINK: Final = re.compile(r"\[([^]]*)\]\(([^)]*)\)", re.DOTALL)
_OF_SKILL: Final = "- [Skill](SKILL.md): How an agent asks, reads an answer and keeps a change."
_SKILL: Final = """\
---
name: {name}
description: Measures which settings train a model fastest without costing accuracy, and whether a \
code change made training faster. Use it for questions about loader workers, batch size, learning \
rate or precision, and before a speed-up is claimed or a change is kept.
---

# Which settings train this fastest?

Measure with these commands: single runs of one config differ by several percent.
[Install](docs/install.md) it next to the model.

    orchestrator tune train.py            # a script as it is: its best loader settings
    orchestrator init --from train.py     # a sweep of a script's options
    orchestrator init                     # or an example that runs, to be edited
    orchestrator plan my_sweep.py         # what would run, for how long, and what cannot
    orchestrator run my_sweep.py --time-budget 30m
    orchestrator show --json              # the last run's answer

More: [sweep files](docs/sweep-files.md), [scripts](docs/scripts.md).

## The verdict

`recommended.json` in the run directory:

{recommended}

Claim a speed-up only where the status is `confirmed`, with `low` and `high`. With any other status
keep the baseline and report the reason. Report the test accuracy, but choose nothing by it.

## Exit codes

{exit_codes}

Of `tune` and `judge`: 0: the new one is shown to be faster; 3: it is not.

## Keep a change, or drop it

{judge}

1. Commit one change.
2. Run `orchestrator judge HEAD~1 HEAD my_sweep.py --json`.
3. Exit code 0: keep it. 3: revert it. 2: mend the request.

Do not choose seeds, shorten runs or judge a change again until it passes: half of all changes
without effect look better in one pair.
"""


def title(page: str) -> str:
    """Return a page's heading."""
    return (ROOT / page).read_text().partition("\n")[0].removeprefix("# ")


def sentence(page: str) -> str:
    """Return a page's first sentence, without links and emphasis."""
    paragraphs = (ROOT / page).read_text().split("\n\n")[1:]
    words = " ".join(next(text for text in paragraphs if not text.startswith("    ")).split())
    plain = _LINK.sub(r"\1", words).replace("**", "")
    return re.split(r"(?<=\.) |:$", plain)[0].rstrip(".") + "."


def section(page: str, heading: str) -> str:
    """Return the text below a heading, without links."""
    below = (ROOT / page).read_text().partition(f"## {heading}\n")[2]
    return _LINK.sub(r"\1", re.split(r"^##+ ", below, flags=re.MULTILINE)[0]).strip("\n")


def bullets(text: str, *names: str) -> str:
    """Return the list items of a text, or those that begin with one of these names."""
    items = re.findall(r"^- .*(?:\n  .*)*", text, re.MULTILINE)
    return "\n".join(item for item in items if not names or item.startswith(tuple(names)))


def llms() -> str:
    """Return llms.txt."""
    readme = (ROOT / "README.md").read_text()
    linked = [target.partition("#")[0] for _, target in _LINK.findall(readme)]
    pages = [page for page in dict.fromkeys(linked) if re.fullmatch(r"docs/[\w-]+\.md", page)]
    recipes = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/recipes/*.md"))
    others = [*recipes, "docs/adr/README.md", "benchmarks/results/README.md"]
    about = _LINK.sub(r"\1", " ".join(readme.split("\n\n")[1].split()))
    lines = [f"# {NAME}", "", f"> {about}", "", "## Docs", "", _OF_SKILL]
    lines += [f"- [{title(page)}]({page}): {sentence(page)}" for page in pages]
    lines += ["", "## Optional", ""]
    lines += [f"- [{title(page)}]({page}): {sentence(page)}" for page in others]
    return "\n".join(lines) + "\n"


def skill() -> str:
    """Return SKILL.md."""
    keys = ("- `status`", "- `config`", "- `speedup`", "- `accuracy_difference`")
    return _SKILL.format(
        name=NAME,
        recommended=bullets(section(_COMMANDS, "Afterwards"), *keys),
        exit_codes=bullets(section(_COMMANDS, "Exit codes"), "- 0:", "- 1:", "- 2:", "- 3:"),
        judge=section("docs/scripts.md", "Is the new one faster?"),
    )


def main() -> None:
    """Write both files."""
    (ROOT / "SKILL.md").write_text(skill())
    (ROOT / "llms.txt").write_text(llms())


if __name__ == "__main__":
    main()
