"""Generator of a set in MAG240M's own layout, a part at a time, at any scale.

Papers belong to fields; some of the fields are the classes. Papers cite papers of their field
and popular ones more than others, authors write within a field, institutions have a few
strong ones. A paper's features show little of its field, its neighbours' features together a
lot, so that a model has to use the relations. Labelled papers are split by year.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from trainables.data.formats.array_writer import ArrayWriter
from trainables.data.formats.arrays import Array
from trainables.data.layouts.mag240m import (
    AFFILIATED,
    CITES,
    FEATURES,
    LABELS,
    META,
    SPLIT,
    WRITES,
    edge_file,
)

NUM_FEATURES = 768

_CHUNK = 1 << 16
_CITATIONS, _PAPERS_OF_AUTHOR, _AFFILIATIONS = 10.65, 3.15, 0.364
"""Mean edges of a paper, an author and an author, as in MAG240M."""
_WITHIN_FIELD = 0.8
"""Share of citations and of authorships that stay within a field."""
_STRONG_FIELDS = 3
"""Strong fields of an institution."""
_SIGNAL = 0.07
"""Deviation of fields' features; that of a paper's from its field's is 1."""
_POPULARITY = 2.5
"""Exponent by which some papers of a field are cited more than others."""
_FIRST_YEAR, _LAST_YEAR = 2000, 2020
_YEARS = {"train": (_FIRST_YEAR, 2018), "valid": (2019, 2019), "test-whole": (2020, _LAST_YEAR)}
_YEARLY_GROWTH = 1.07


@dataclass(frozen=True, kw_only=True)
class Size:
    """Size of what is generated.

    Attributes:
        num_papers: Number of papers.
        num_authors: Number of authors.
        num_institutions: Number of institutions.
        num_classes: Number of classes; there are as many fields again without labels.
        labelled: Share of the papers with a label.
    """

    num_papers: int
    num_authors: int
    num_institutions: int
    num_classes: int
    labelled: float

    @property
    def num_fields(self) -> int:
        """Classes, and fields that are none."""
        return 2 * self.num_classes


def write_layout(folder: Path, size: Size, seed: int) -> None:
    """Write all files, the same for the same arguments.

    Args:
        folder: The set's own folder; made here.
        size: How much.
        seed: Seed of the random generator.
    """
    rng = np.random.default_rng(seed)
    fields = Fields.draw(size, rng)
    for file in (FEATURES, edge_file(AFFILIATED), edge_file(WRITES), edge_file(CITES)):
        (folder / file).parent.mkdir(parents=True)
    _write_edges(folder / edge_file(CITES), _citations(size, fields, rng))
    _write_edges(folder / edge_file(WRITES), _authorships(size, fields, rng))
    _write_edges(folder / edge_file(AFFILIATED), _affiliations(size, fields, rng))
    _write_features(folder / FEATURES, size, fields, rng)
    _write_papers(folder, size, fields, rng)
    (folder / "RELEASE_v1.txt").write_text("generated in the layout of release 1\n")


@dataclass(frozen=True, kw_only=True, eq=False)
class Fields:
    """Fields of papers and authors, and the draw of a paper of a field.

    Attributes:
        of_paper: int16, ``(papers,)``.
        of_author: int16, ``(authors,)``.
        papers: Papers ordered by their field.
        firsts: Position of a field's first paper in it, ``(fields + 1,)``.
    """

    of_paper: Array
    of_author: Array
    papers: Array
    firsts: Array

    @classmethod
    def draw(cls, size: Size, rng: np.random.Generator) -> Fields:
        """Fields of unequal size: their shares fall as 1, 1/2, 1/3, ... to a power of 0.7."""
        shares = np.arange(1, size.num_fields + 1) ** -0.7
        shares = rng.permutation(shares / shares.sum())
        of_paper, of_author = (
            rng.choice(size.num_fields, number, p=shares).astype(np.int16)
            for number in (size.num_papers, size.num_authors)
        )
        counts = np.bincount(of_paper, minlength=size.num_fields)
        return cls(
            of_paper=of_paper,
            of_author=of_author,
            papers=np.argsort(of_paper, kind="stable"),
            firsts=np.concatenate([[0], np.cumsum(counts)]),
        )

    def draw_papers(self, fields: Array, rng: np.random.Generator) -> Array:
        """One paper for each entry: mostly of that field, the popular ones more often."""
        num_fields = len(self.firsts) - 1
        elsewhere = rng.random(len(fields)) >= _WITHIN_FIELD
        fields = np.where(elsewhere, rng.integers(0, num_fields, len(fields)), fields)
        first = self.firsts[fields]
        number = self.firsts[fields + 1] - first
        place = first + (rng.random(len(fields)) ** _POPULARITY * number).astype(np.int64)
        drawn: Array = self.papers[np.minimum(place, len(self.papers) - 1)]
        return drawn


def _citations(size: Size, fields: Fields, rng: np.random.Generator) -> Iterator[Array]:
    for start in range(0, size.num_papers, _CHUNK):
        of_paper = fields.of_paper[start : start + _CHUNK]
        numbers = rng.geometric(1 / (1 + _CITATIONS), len(of_paper)) - 1
        citing = np.repeat(np.arange(start, start + len(of_paper)), numbers)
        cited = fields.draw_papers(np.repeat(of_paper, numbers), rng)
        edges = np.stack([citing, cited])
        yield edges[:, citing != cited]


def _authorships(size: Size, fields: Fields, rng: np.random.Generator) -> Iterator[Array]:
    for start in range(0, size.num_authors, _CHUNK):
        of_author = fields.of_author[start : start + _CHUNK]
        numbers = rng.geometric(1 / _PAPERS_OF_AUTHOR, len(of_author))
        authors = np.repeat(np.arange(start, start + len(of_author)), numbers)
        yield np.stack([authors, fields.draw_papers(np.repeat(of_author, numbers), rng)])


def _affiliations(size: Size, fields: Fields, rng: np.random.Generator) -> Iterator[Array]:
    strong = rng.integers(0, size.num_fields, (size.num_institutions, _STRONG_FIELDS))
    order = np.argsort(strong, axis=None, kind="stable")
    firsts = np.searchsorted(strong.ravel()[order], np.arange(size.num_fields + 1))
    for start in range(0, size.num_authors, _CHUNK):
        of_author = fields.of_author[start : start + _CHUNK]
        employed = np.flatnonzero(rng.random(len(of_author)) < _AFFILIATIONS)
        first, last = firsts[of_author[employed]], firsts[of_author[employed] + 1]
        place = first + (rng.random(len(employed)) * (last - first)).astype(np.int64)
        strong_one = order[np.minimum(place, len(order) - 1)] // _STRONG_FIELDS
        anywhere = rng.integers(0, size.num_institutions, len(employed))
        yield np.stack([start + employed, np.where(first < last, strong_one, anywhere)])


def _write_edges(file: Path, chunks: Iterator[Array]) -> None:
    """Write ``(2, edges)``. All sources come before all targets, so these wait in a file."""
    num_edges = 0
    with TemporaryDirectory(dir=file.parent) as scratch:
        rows = [Path(scratch) / name for name in ("sources", "targets")]
        with rows[0].open("wb") as sources, rows[1].open("wb") as targets:
            for chunk in chunks:
                num_edges += chunk.shape[1]
                chunk[0].tofile(sources)
                chunk[1].tofile(targets)
        header = {"descr": "<i8", "fortran_order": False, "shape": (2, num_edges)}
        with file.open("wb") as whole:
            np.lib.format.write_array_header_1_0(whole, header)
            for row in rows:
                with row.open("rb") as part:
                    shutil.copyfileobj(part, whole)


def _write_features(file: Path, size: Size, fields: Fields, rng: np.random.Generator) -> None:
    centres = rng.standard_normal((size.num_fields, NUM_FEATURES), dtype=np.float32)
    centres *= np.float32(_SIGNAL)
    with ArrayWriter(file, np.float16, (NUM_FEATURES,)) as writer:
        for start in range(0, size.num_papers, _CHUNK):
            of_paper = fields.of_paper[start : start + _CHUNK]
            chunk = rng.standard_normal((len(of_paper), NUM_FEATURES), dtype=np.float32)
            chunk += centres[of_paper]
            writer.append(chunk)


def _write_papers(folder: Path, size: Size, fields: Fields, rng: np.random.Generator) -> None:
    import torch

    every_year = np.arange(_FIRST_YEAR, _LAST_YEAR + 1)
    growth = _YEARLY_GROWTH ** (every_year - _FIRST_YEAR)
    years = rng.choice(every_year, size.num_papers, p=growth / growth.sum())
    np.save(folder / "processed/paper/node_year.npy", years.astype(np.int16))
    chosen = rng.random(size.num_papers) < 2 * size.labelled
    labelled = chosen & (fields.of_paper < size.num_classes)
    labels = np.where(labelled, fields.of_paper, np.nan).astype(np.float32)
    np.save(folder / LABELS, labels)
    splits = {
        name: np.flatnonzero(labelled & (years >= first) & (years <= last))
        for name, (first, last) in _YEARS.items()
    }
    halves = np.arange(len(splits["test-whole"])) % 5 < 3  # as OGB halves it
    splits["test-dev"] = splits["test-whole"][halves]
    splits["test-challenge"] = splits["test-whole"][~halves]
    torch.save(splits, folder / SPLIT)
    counts = {
        "paper": size.num_papers,
        "author": size.num_authors,
        "institution": size.num_institutions,
        "num_classes": size.num_classes,
    }
    torch.save(counts, folder / META)
