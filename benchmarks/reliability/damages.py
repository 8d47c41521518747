"""Damages of a file: what disks, transfers, people and programs make of it."""

from __future__ import annotations

import gzip
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

Damage = Callable[[Path, Random], None]
"""Damages a file in its place."""


def _missing(path: Path, _rng: Random) -> None:
    path.unlink()


def _empty(path: Path, _rng: Random) -> None:
    path.write_bytes(b"")


def _truncated(path: Path, rng: Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: rng.randrange(1, max(len(content), 2))])


def _flipped(path: Path, rng: Random) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 3, 20])):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(bytes(content))


def _noise(path: Path, rng: Random) -> None:
    path.write_bytes(rng.randbytes(200))


def _zeros(path: Path, rng: Random) -> None:
    content = bytearray(path.read_bytes())
    begin = rng.randrange(len(content))
    content[begin : begin + 64] = bytes(len(content[begin : begin + 64]))
    path.write_bytes(bytes(content))


def _longer(path: Path, rng: Random) -> None:
    path.write_bytes(path.read_bytes() + rng.randbytes(50))


def _folder(path: Path, _rng: Random) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path, _rng: Random) -> None:
    path.unlink()
    os.mkfifo(path)


def _socket(path: Path, _rng: Random) -> None:
    path.unlink()
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path is short
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(here)


def _link_to(target: str) -> Damage:
    def damage(path: Path, _rng: Random) -> None:
        path.unlink()
        path.symlink_to(target if target.startswith("/") else path.with_name(target))

    return damage


def _link_to_itself(path: Path, _rng: Random) -> None:
    path.unlink()
    path.symlink_to(path.name)


def _other_file(path: Path, rng: Random) -> None:
    others = sorted(each for each in path.parent.parent.rglob("*") if each.is_file())
    shutil.copyfile(rng.choice([each for each in others if each != path] or [path]), f"{path}.new")
    Path(f"{path}.new").rename(path)


OF_ANY_FILE: Final[dict[str, Damage]] = {
    "missing": _missing, "empty": _empty, "truncated": _truncated, "bits flipped": _flipped,
    "noise": _noise, "zeros in it": _zeros, "longer": _longer, "a folder": _folder,
    "a pipe": _pipe, "a socket": _socket, "a link to /dev/zero": _link_to("/dev/zero"),
    "a link to /dev/null": _link_to("/dev/null"), "a link to nothing": _link_to("gone"),
    "a link to itself": _link_to_itself, "another file": _other_file,
}  # fmt: skip
"""Damages by their names."""


def _text(change: Callable[[list[str], Random], list[str]]) -> Damage:
    """Return a damage of the lines in a packed file of text."""

    def damage(path: Path, rng: Random) -> None:
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()
        path.write_bytes(gzip.compress("\n".join([*change(lines, rng), ""]).encode("latin-1")))

    return damage


def _with_cell(cell: str) -> Damage:
    """Return a damage that puts ``cell`` in the place of one of the numbers."""

    def change(lines: list[str], rng: Random) -> list[str]:
        row = rng.randrange(len(lines))
        cells = lines[row].split(",")
        cells[rng.randrange(len(cells))] = cell
        return [*lines[:row], ",".join(cells), *lines[row + 1 :]]

    return _text(change)


def _with_line(line: str) -> Damage:
    def change(lines: list[str], rng: Random) -> list[str]:
        row = rng.randrange(len(lines) + 1)
        return [*lines[:row], line, *lines[row:]]

    return _text(change)


CELLS: Final = (
    "", " ", "-1", "-5", "1.5", "nan", "inf", "-inf", "1e400", "1e30", "999", "9" * 20,
    "9" * 400, "x", "0x10", "1-2", "1e", "True", "\x00", "\xff", '"1"', '"', "1;2", "\u0661", "1_0",
)  # fmt: skip
"""Contents of a cell that is a number otherwise."""

OF_A_TABLE: Final[dict[str, Damage]] = {
    **{f"the cell {cell[:24]!r}": _with_cell(cell.encode().decode("latin-1")) for cell in CELLS},
    "a line less": _text(lambda lines, _rng: lines[:-1]),
    "a line more": _text(lambda lines, _rng: [*lines, lines[-1]]),
    "an empty line": _with_line(""),
    "a heading": _text(lambda lines, _rng: [",".join("ab"), *lines]),
    "a comment": _with_line("# by hand"),
    "a column more": _text(lambda lines, _rng: [f"{line},1" for line in lines]),
    "a column more in a line": _with_line("1,2,3,4,5,6,7,8,9"),
    "spaces": _text(lambda lines, _rng: [f" {line} " for line in lines]),
    "semicolons": _text(lambda lines, _rng: [line.replace(",", ";") for line in lines]),
    "all the same": _text(lambda lines, _rng: [lines[0]] * len(lines)),
    "one line": _text(lambda lines, _rng: lines[:1]),
    "carriage returns": _text(lambda lines, _rng: [f"{line}\r" for line in lines]),
}  # fmt: skip
"""Damages of a packed table of numbers, by their names."""
