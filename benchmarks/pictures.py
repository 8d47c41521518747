"""Pictures of README, made from this code: a run in the terminal, its report, its MLflow page.

    python -m benchmarks.pictures [--sweep sweeps/products_loader.py] [--to docs/pictures]

Needs Chromium. The run is a real one and takes minutes.
"""

from __future__ import annotations

import fcntl
import html
import os
import pty
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import pyte
from playwright.sync_api import Browser, sync_playwright

from orchestrator.arguments import Parser

COLUMNS, LINES = 110, 32
_PAGES: Final[Mapping[str, dict[str, Any]]] = {
    "report-light": {"width": 1280, "height": 720, "color_scheme": "light"},
    "report-dark": {"width": 1280, "height": 720, "color_scheme": "dark"},
    "report-phone": {"width": 375, "height": 720, "color_scheme": "light"},
}
_COLOURS: Final = {
    "default": "#e6e6e6", "black": "#808890", "red": "#ff7b72", "green": "#7ee787",
    "brown": "#e3b341", "blue": "#79c0ff", "magenta": "#d2a8ff", "cyan": "#76e3ea",
    "white": "#e6e6e6", "brightblack": "#9aa4ae",
}  # fmt: skip


def run_in_terminal(command: Sequence[str], folder: Path) -> list[str]:
    """Run a command in ``folder``, in a new terminal; return its screens, as HTML.

    Returns:
        The screen halfway through the command's changes, and the last one.
    """
    driver, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    environment["PYTHONPATH"] = str(Path.cwd())
    process = subprocess.Popen(
        command, stdin=terminal, stdout=terminal, stderr=terminal, env=environment, cwd=folder
    )
    os.close(terminal)
    chunks: list[bytes] = []
    while (read := _read(driver)) is not None:
        chunks.append(read)
    os.close(driver)
    if process.wait():
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return [screen_after(chunks[: len(chunks) // 2]), screen_after(chunks)]


def screen_after(chunks: Sequence[bytes]) -> str:
    """Return the screen of a terminal that has received ``chunks``, as HTML."""
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)
    for chunk in chunks:
        stream.feed(chunk)
    return as_html(screen)


def _read(driver: int) -> bytes | None:
    """Return what has come; None at the end, where Linux raises an error."""
    try:
        return os.read(driver, 1 << 16) or None
    except OSError:
        return None


def as_html(screen: pyte.Screen) -> str:
    """Return a screen as a page."""
    lines = ["".join(_spans(screen.buffer[row])).rstrip() for row in range(screen.lines)]
    while lines and not lines[-1].strip():
        lines.pop()
    text = "\n".join(lines)
    style = (
        "margin:0;padding:18px 22px;background:#0d1117;color:#e6e6e6;display:inline-block;"
        "font:14px/1.45 'DejaVu Sans Mono',monospace;border-radius:8px"
    )
    return f'<body style="margin:0"><pre style="{style}">{text}</pre></body>'


def _spans(row: Mapping[int, Any]) -> Iterator[str]:
    """Yield the stretches of a line that look alike."""
    cells = [row[column] for column in range(COLUMNS)]
    for (colour, bold), alike in groupby(cells, key=lambda cell: (cell.fg, cell.bold)):
        text = html.escape("".join(cell.data for cell in alike))
        shown = _COLOURS.get(colour, f"#{colour}")
        weight = ";font-weight:bold" if bold else ""
        is_plain = colour == "default" and not bold
        yield text if is_plain else f'<span style="color:{shown}{weight}">{text}</span>'


@contextmanager
def serving(store: Path, folder: Path) -> Iterator[str]:
    """Serve the MLflow database ``store``."""
    with closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "server", "--workers", "1", "--port", str(port)]
    command += ["--backend-store-uri", f"sqlite:///{store}"]
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        yield _when_up(f"http://127.0.0.1:{port}")
    finally:
        os.killpg(server.pid, 15)
        server.wait()


def _when_up(address: str) -> str:
    for _ in range(300):
        try:
            urllib.request.urlopen(f"{address}/health", timeout=2)
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
        else:
            return address
    raise SystemExit(f"no answer from {address}")


def parent_page(address: str, store: Path) -> str:
    """Return the address of the parent run's page."""
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{store}")
    experiments = [e for e in client.search_experiments() if e.name != "Default"]
    runs = client.search_runs([experiments[0].experiment_id])
    parent = next(run for run in runs if "mlflow.parentRunId" not in run.data.tags)
    where = f"experiments/{parent.info.experiment_id}/runs/{parent.info.run_id}"
    return f"{address}/#/{where}?workflowType=machine_learning"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sweep and take the pictures."""
    parser = Parser(prog="python -m benchmarks.pictures", description=__doc__)
    parser.add_argument("--sweep", default="sweeps/products_loader.py")
    parser.add_argument("--to", type=Path, default=Path("docs/pictures"))
    options = parser.parse_args(arguments)
    options.to.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        run_dir, store = Path("runs/products_loader"), Path("runs/mlflow.db")
        for name, target in (("sweeps", Path("sweeps").resolve()), (".venv", sys.prefix)):
            (folder / name).symlink_to(target)
        command = [".venv/bin/python", "-m", "orchestrator", options.sweep, "--out", str(run_dir)]
        screens = run_in_terminal([*command, "--tracking-uri", f"sqlite:///{store}"], folder)
        run_dir, store = folder / run_dir, folder / store
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for which, screen in zip(("terminal-live", "terminal"), screens, strict=True):
            (folder / "screen.html").write_text(screen)
            _shoot(browser, (folder / "screen.html").as_uri(), options.to / f"{which}.png", "pre")
        for which, looks in _PAGES.items():
            _shoot(
                browser, (run_dir / "report.html").as_uri(), options.to / f"{which}.png", **looks
            )
        with serving(store, folder) as address:
            page = parent_page(address, store)
            # Narrower, MLflow puts the description below what few look for.
            looks = {"width": 1900, "height": 1100, "settle_s": 6.0}
            clicks = "text=Show more", "[data-componentid$='chat_panel.close']"
            _shoot(browser, page, options.to / "mlflow.png", clicks=clicks, **looks)
    return 0


def _shoot(
    browser: Browser,
    address: str,
    path: Path,
    element: str = "",
    *,
    width: int = 1280,
    height: int = 720,
    color_scheme: Any = "light",  # noqa: ANN401 - playwright's own literals
    settle_s: float = 1.5,
    clicks: Sequence[str] = (),
) -> None:
    """Take a picture of a page, or of one element of it."""
    viewport: Any = {"width": width, "height": height}
    page = browser.new_page(viewport=viewport, color_scheme=color_scheme, device_scale_factor=1.5)
    page.goto(address)
    page.wait_for_timeout(settle_s * 1000)
    for shown in filter(lambda spot: spot.is_visible(), (page.locator(c).first for c in clicks)):
        shown.click()
        page.wait_for_timeout(500)
    if element:
        page.locator(element).screenshot(path=path)
    else:
        page.screenshot(path=path)
    page.close()


if __name__ == "__main__":
    sys.exit(main())
