"""Changes of a set of data: makers of the damages of :mod:`.set_damages`."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Change = Callable[[Path], object]
"""Damages the set in a folder."""

RAW, SPLIT = "raw", "split/random"
PAPERS = "processed/paper"
CITES = "processed/paper___cites___paper/edge_index.npy"


def of_text(name: str, text: str) -> Change:
    """Return a change of a packed file's text."""
    return lambda folder: (folder / name).write_bytes(gzip.compress(text.encode("latin-1")))


def of_bytes(name: str, content: bytes) -> Change:
    """Return a change of a file's content."""
    return lambda folder: (folder / name).write_bytes(content)


def edited(name: str, edit: Callable[[list[str]], list[str]]) -> Change:
    """Return a change of a packed file's lines."""

    def change(folder: Path) -> None:
        path = folder / name
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()
        path.write_bytes(gzip.compress("".join(f"{line}\n" for line in edit(lines)).encode()))

    return change


def repacked(name: str, pack: Callable[[bytes], bytes]) -> Change:
    """Return a change of a packed file."""

    def change(folder: Path) -> None:
        path = folder / name
        path.write_bytes(pack(path.read_bytes()))

    return change


def bomb(name: str, content: bytes = b"0" * 2**20, times: int = 1200) -> Change:
    """Return a change to a small file that is large once it is unpacked."""

    def change(folder: Path) -> None:
        with gzip.open(folder / name, "wb", compresslevel=1) as file:
            for _ in range(times):
                file.write(content)

    return change


def replaced(name: str, make: Callable[[Path], object]) -> Change:
    """Return a change that makes something else in the place of a file or folder."""

    def change(folder: Path) -> None:
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        make(path)

    return change


def described(content: Any) -> Change:  # noqa: ANN401 - JSON, or text
    """Return a change of the description."""
    text = content if isinstance(content, str) else json.dumps(content)
    return lambda folder: (folder / "meta_dict.json").write_text(text)


def of_array(name: str, edit: Callable[[Any], Any]) -> Change:
    """Return a change of an array in a file."""

    def change(folder: Path) -> None:
        np.save(folder / name, edit(np.load(folder / name)))

    return change


def with_cell(place: Any, value: Any) -> Callable[[Any], Any]:  # noqa: ANN401 - as of arrays
    """Return an edit of one cell."""

    def edit(array: Any) -> Any:  # noqa: ANN401 - an array
        array[place] = value
        return array

    return edit


def of_header(
    name: str, shape: tuple[int, ...], dtype: str = "<i8", content: bytes = b""
) -> Change:
    """Return a change to an array's file with this header."""

    def change(folder: Path) -> None:
        buffer = io.BytesIO()
        header = {"descr": dtype, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(buffer, header)
        (folder / name).write_bytes(buffer.getvalue() + content)

    return change


def saved(name: str, edit: Callable[[Any], Any]) -> Change:
    """Return a change of what torch has saved in a file."""

    def change(folder: Path) -> None:
        import torch

        content = torch.load(folder / name, weights_only=False)
        torch.save(edit(content), folder / name)

    return change


def with_values(**values: Any) -> Callable[[Any], Any]:  # noqa: ANN401 - of a mapping
    """Return an edit of a mapping."""
    return lambda content: {**content, **{name.replace("_", "-"): v for name, v in values.items()}}


def with_counts(**values: Any) -> Callable[[Any], Any]:  # noqa: ANN401 - of a mapping
    """Return an edit of counts."""
    return lambda content: {**content, **values}


def without(name: str) -> Callable[[Any], Any]:
    """Return an edit of a mapping that lacks a name."""
    return lambda content: {key: value for key, value in content.items() if key != name}


class Code:
    """What runs when it is unpickled."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, ("echo Traceback: code was run",)


def idx(name: str, magic: int, shape: tuple[int, ...], content: bytes) -> Change:
    """Return a change into a file of MNIST's format."""

    def change(folder: Path) -> None:
        data = struct.pack(f">{1 + len(shape)}I", magic, *shape) + content
        path = folder / name
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)

    return change


def doubled_name(folder: Path) -> None:
    """Add a file under two names."""
    (folder / "t10k-labels-idx1-ubyte").write_bytes(b"not what the packed one holds")
