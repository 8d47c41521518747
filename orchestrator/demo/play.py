"""The command line of the demo: replay the recorded sweep, print its answer, open its report."""

from collections.abc import Sequence
from pathlib import Path

from orchestrator.analysis.command_line import main as analysis
from orchestrator.arguments import Parser, command
from orchestrator.driver.options.options import Options
from orchestrator.driver.run import run


def main(arguments: Sequence[str]) -> int:
    """Replay the recorded sweep into ``runs/demo``; return its exit code."""
    text = "Replays a recorded sweep in seconds, prints its answer and opens its report."
    Parser(prog=command("demo"), description=text).parse_args(arguments)
    here = Path(__file__).parent
    table = f"replay.table={here / 'recorded'}"
    code = run(Options(sweep_file=here / "demo.py", executor="replay", set=(table,)), ["demo"])
    return code or analysis(["open"])
