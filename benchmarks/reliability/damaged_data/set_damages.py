"""Damages of whole sets of data: files that are right by themselves, or wrong beyond a bit.

Each takes the folder of a set of :mod:`benchmarks.reliability.damaged_data.data_sets`.
"""

from __future__ import annotations

import gzip
import os
import pickle
import shutil
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.reliability.damaged_data.image_damages import OF_IMAGES
from benchmarks.reliability.damaged_data.set_changes import (
    CITES,
    PAPERS,
    RAW,
    SPLIT,
    Change,
    Code,
    bomb,
    described,
    edited,
    of_array,
    of_bytes,
    of_header,
    of_text,
    repacked,
    replaced,
    saved,
    with_cell,
    with_counts,
    with_values,
    without,
)

_OF_A_GRAPH: Final[dict[str, Change]] = {
    "splits that overlap": edited(f"{SPLIT}/valid.csv.gz", lambda lines: [*lines, "3"]),
    "a node twice in a split": edited(f"{SPLIT}/train.csv.gz", lambda lines: [*lines, lines[0]]),
    "a split beyond the nodes": edited(f"{SPLIT}/test.csv.gz", lambda lines: [*lines, "40"]),
    "a split below 0": edited(f"{SPLIT}/test.csv.gz", lambda lines: [*lines, "-1"]),
    "a split of fractions": edited(
        f"{SPLIT}/train.csv.gz", lambda lines: [f"{n}.0" for n in lines]
    ),
    "a split of two columns": edited(
        f"{SPLIT}/train.csv.gz", lambda lines: [f"{n},1" for n in lines]
    ),
    "a split of a switch a node": of_text(f"{SPLIT}/train.csv.gz", "True\nFalse\n" * 20),
    "an empty split": of_text(f"{SPLIT}/valid.csv.gz", ""),
    "a split of a line end": of_text(f"{SPLIT}/valid.csv.gz", "\n"),
    "the same split thrice": lambda f: [
        shutil.copy(f / SPLIT / "train.csv.gz", f / SPLIT / f"{n}.csv.gz")
        for n in ("valid", "test")
    ],
    "fewer nodes": of_text(f"{RAW}/num-node-list.csv.gz", "39\n"),
    "more nodes": of_text(f"{RAW}/num-node-list.csv.gz", "41\n"),
    "no nodes": of_text(f"{RAW}/num-node-list.csv.gz", "0\n"),
    "many nodes": of_text(f"{RAW}/num-node-list.csv.gz", "2147483646\n"),
    "too many nodes": of_text(f"{RAW}/num-node-list.csv.gz", "2147483648\n"),
    "nodes in words": of_text(f"{RAW}/num-node-list.csv.gz", "forty\n"),
    "two graphs": of_text(f"{RAW}/num-node-list.csv.gz", "20\n20\n"),
    "more edges": of_text(f"{RAW}/num-edge-list.csv.gz", "121\n"),
    "no edges": lambda f: [
        of_text(f"{RAW}/num-edge-list.csv.gz", "0\n")(f),
        of_text(f"{RAW}/edge.csv.gz", "")(f),
    ],
    "loops alone": edited(
        f"{RAW}/edge.csv.gz", lambda lines: [f"{n % 40},{n % 40}" for n in range(len(lines))]
    ),
    "an edge twice": edited(f"{RAW}/edge.csv.gz", lambda lines: [lines[0]] * len(lines)),
    "an edge to nobody": edited(f"{RAW}/edge.csv.gz", lambda lines: ["0,40", *lines[1:]]),
    "an edge from -1": edited(f"{RAW}/edge.csv.gz", lambda lines: ["-1,0", *lines[1:]]),
    "an edge with a weight": edited(
        f"{RAW}/edge.csv.gz", lambda lines: [f"{n},0.5" for n in lines]
    ),
    "features of nan": edited(
        f"{RAW}/node-feat.csv.gz", lambda lines: ["nan,0,0,0,0", *lines[1:]]
    ),
    "features of inf": edited(
        f"{RAW}/node-feat.csv.gz", lambda lines: ["inf,0,0,0,0", *lines[1:]]
    ),
    "features beyond a float": edited(
        f"{RAW}/node-feat.csv.gz", lambda lines: ["1e39,0,0,0,0", *lines[1:]]
    ),
    "features of different widths": edited(
        f"{RAW}/node-feat.csv.gz", lambda lines: [lines[0] + ",1", *lines[1:]]
    ),
    "features in words": edited(
        f"{RAW}/node-feat.csv.gz", lambda lines: ["a,b,c,d,e", *lines[1:]]
    ),
    "a label of -1 in a split": edited(
        f"{RAW}/node-label.csv.gz", lambda lines: ["-1", *lines[1:]]
    ),
    "a label of -2": edited(f"{RAW}/node-label.csv.gz", lambda lines: ["-2", *lines[1:]]),
    "a label too large": edited(f"{RAW}/node-label.csv.gz", lambda lines: ["4", *lines[1:]]),
    "a label of half": edited(f"{RAW}/node-label.csv.gz", lambda lines: ["0.5", *lines[1:]]),
    "labels of two columns": edited(
        f"{RAW}/node-label.csv.gz", lambda lines: [f"{n},0" for n in lines]
    ),
    "all labels alike": edited(f"{RAW}/node-label.csv.gz", lambda lines: ["0"] * len(lines)),
    "packed twice": repacked(f"{RAW}/edge.csv.gz", gzip.compress),
    "not packed": repacked(f"{RAW}/edge.csv.gz", gzip.decompress),
    "packed in parts": repacked(
        f"{RAW}/edge.csv.gz",
        lambda c: b"".join(gzip.compress(line + b"\n") for line in gzip.decompress(c).splitlines()),
    ),
    "something after the end": repacked(f"{RAW}/edge.csv.gz", lambda c: c + b"more"),
    "zeros after the end": repacked(f"{RAW}/edge.csv.gz", lambda c: c + bytes(512)),
    "a bomb of edges": bomb(f"{RAW}/edge.csv.gz"),
    "a bomb of nodes": bomb(f"{RAW}/num-node-list.csv.gz"),
    "a bomb of a split": bomb(f"{SPLIT}/train.csv.gz"),
    "a bomb of lines": bomb(f"{RAW}/node-label.csv.gz", b"1\n" * 2**19, 200),
    "raw is a file": replaced(RAW, lambda p: p.write_text("x")),
    "raw is a pipe": replaced(RAW, os.mkfifo),
    "raw is a loop": replaced(RAW, lambda p: p.symlink_to(p.name)),
    "raw is empty": replaced(RAW, Path.mkdir), "raw is gone": lambda f: shutil.rmtree(f / RAW),
    "split is a file": replaced("split", lambda p: p.write_text("x")),
    "split is a pipe": replaced("split", os.mkfifo),
    "split is empty": replaced("split", Path.mkdir),
    "two splits": lambda f: shutil.copytree(f / SPLIT, f / "split" / "other"),
    "a loop of folders": lambda f: (f / "loop").symlink_to("."),
    "names in capitals": lambda f: (f / RAW / "edge.csv.gz").rename(f / RAW / "EDGE.CSV.GZ"),
    "10,000 other files": lambda f: [(f / f"file{n}").touch() for n in range(10_000)],
    "an odd name": lambda f: (f / os.fsdecode(b"\xff\xfe")).mkdir(),
    "no description": lambda f: (f / "meta_dict.json").unlink(),
    "a description that is a folder": replaced("meta_dict.json", Path.mkdir),
    "a description that is a pipe": replaced("meta_dict.json", os.mkfifo),
    "a description in UTF-16": of_bytes("meta_dict.json", '{"split": "random"}'.encode("utf-16")),
    **{
        f"described as {content!r:.60}": described(content)
        for content in (
            "", "{", "[]", "3", "null", "NaN", '"x"', "[" * 100_000, '{"a": ' * 5000, {"split": 3},
            {"split": None}, {"split": ["random"]}, {"split": "../split/random"}, {"split": "/etc"},
            {"split": "."}, {"split": ".."}, {"split": "x" * 300}, {"split": "a\0b"},
            {"split": "\ud800"}, {"split": "gone"}, {"num classes": 3}, {"num classes": 0},
            {"num classes": -1}, {"num classes": "four"}, {"num classes": 4.0},
            {"num classes": None}, {"num classes": []}, {"num classes": True},
            {"num classes": 10**30}, {"num classes": "9" * 5000}, {"num classes": 1e999},
            {"is hetero": "True"}, {"is hetero": True}, {"is hetero": []}, {"binary": "True"},
            {"task type": "regression"}, {"task type": {}}, {"add_inverse_edge": []},
            {"add_inverse_edge": "yes"}, {3: 4},
        )
    },
}  # fmt: skip

_OF_KINDS: Final[dict[str, Change]] = {
    **{
        f"nodes as {text!r:.40}": of_text("raw/num-node-dict.csv.gz", text)
        for text in (
            "", "\n", "author\n40\n", "author,paper\n40\n", "author,paper\n40,40,40\n",
            "author,author\n40,40\n", ",\n40,40\n", "author,paper\n40,x\n", "author,paper\n-1,40\n",
            "author,paper\n40,40\n40,40\n", "author,../paper\n40,40\n", "author,/\n40,40\n",
            "author,paper\n40,99999999999999999999\n", "author,paper\n0,0\n",
            "author,paper\n40,39\n", "a\xff,paper\n40,40\n", "author,pa per\n40,40\n",
            "author,paper\n40,4e1\n", "author,\x00\n40,40\n", "author,paper\n40,2147483647\n",
            "author,paper,venue\n40,40,3\n", "author;paper\n40;40\n",
        )
    },
    **{
        f"relations as {text!r:.40}": of_text("raw/triplet-type-list.csv.gz", text)
        for text in (
            "", "\n", "author,writes\n", "author,writes,paper,x\n", "author,writes,venue\n",
            "paper,cites,paper\npaper,cites,paper\n", "author,../../x,paper\n",
            "author,/etc,paper\n", ",,\n", "author,writes,paper\n", "author,gone,paper\n",
            "author___writes___paper\n", "author,writes,paper\n\npaper,cites,paper\n",
            "\xff,\xff,\xff\n", "author," + "x" * 300 + ",paper\n", "author,a\x00b,paper\n",
        )
    },
    **{
        f"{kind} as {text!r:.40}": of_text(name, text)
        for kind, name in (
            ("labels", "raw/nodetype-has-label.csv.gz"),
            ("splits", "split/time/nodetype-has-split.csv.gz"),
        )
        for text in (
            "", "author,paper\n", "author,paper\nFalse,False\n", "author,paper\nTrue,True\n",
            "author,paper\nTrue,False\n", "author,paper\n0,1\n", "author,paper\nFalse,maybe\n",
            "author,paper\nFalse\n", "venue\nTrue\n", "author,paper\nfalse,true\n", "paper\nTrue\n",
            "paper,paper\nTrue,True\n",
        )
    },
    "splits that overlap": edited("split/time/paper/valid.csv.gz", lambda lines: [*lines, "3"]),
    "a split beyond the nodes": edited(
        "split/time/paper/test.csv.gz", lambda lines: [*lines, "40"]
    ),
    "features of nan": edited(
        "raw/node-feat/paper/node-feat.csv.gz", lambda lines: ["nan,0,0,0,0", *lines[1:]]
    ),
    "more features than nodes": edited(
        "raw/node-feat/paper/node-feat.csv.gz", lambda lines: [*lines, lines[0]]
    ),
    "an edge to nobody": edited(
        "raw/relations/author___writes___paper/edge.csv.gz", lambda lines: ["0,40", *lines[1:]]
    ),
    "an edge too many": edited(
        "raw/relations/author___writes___paper/edge.csv.gz", lambda lines: [*lines, "0,0"]
    ),
    "a bomb of edges": bomb("raw/relations/author___writes___paper/edge.csv.gz"),
    "a bomb of names": bomb("raw/num-node-dict.csv.gz"),
    "a bomb of relations": bomb("raw/triplet-type-list.csv.gz", b"a,b,c\n" * 2**17, 300),
    "relations that are a pipe": replaced("raw/relations", os.mkfifo),
    "a relation that is a loop": replaced(
        "raw/relations/author___writes___paper", lambda p: p.symlink_to(p.name)
    ),
    "labels of another kind": lambda f: (f / "raw/node-label/paper").rename(
        f / "raw/node-label/author"
    ),
    "features of another kind": lambda f: (f / "raw/node-feat/paper").rename(
        f / "raw/node-feat/venue"
    ),
}  # fmt: skip

_OF_MAG: Final[dict[str, Change]] = {
    **{
        f"{kind} counted as {value!r:.30}": saved("meta.pt", with_counts(**{kind: value}))
        for kind in ("paper", "num_classes")
        for value in (
            0, -1, 39, 41, 40.0, "40", None, True, [], 10**30, float("nan"), np.int64(3),
            np.array(40), 2**62,
        )
    },
    **{
        f"meta.pt holds {value!r:.20}": saved("meta.pt", lambda _, value=value: value)
        for value in (3, [], "x", None, {}, {3: 4})
    },
    "meta.pt lacks author": saved("meta.pt", without("author")),
    "meta.pt has more": saved("meta.pt", with_counts(venue=3)),
    "code in meta.pt": lambda f: (f / "meta.pt").write_bytes(pickle.dumps(Code())),
    "code in split_dict.pt": saved("split_dict.pt", lambda _: Code()),
    **{
        f"a split of {name}": saved("split_dict.pt", with_values(train=value))
        for name, value in {
            "fractions": np.arange(20) + 0.5, "floats": np.arange(20.0),
            "switches": np.arange(40) < 20, "objects": np.array([1, "x"], dtype=object),
            "a list": list(range(20)), "text": "x", "None": None,
            "two columns": np.arange(20).reshape(10, 2), "nothing": np.arange(0),
            "beyond": np.arange(30, 50), "below 0": np.arange(-5, 15), "others": np.arange(15, 25),
            "twice": np.zeros(20, dtype=int), "big ends": np.arange(20).astype(">i8"),
            "bytes": np.arange(20).astype(np.uint8), "one number": np.array(3),
            "unsorted": np.arange(20)[::-1].copy(), "huge": np.full(20, 2**62),
            "nan": np.full(20, np.nan), "dates": np.arange(20).astype("datetime64[D]"),
            "text in an array": np.arange(20).astype(str), "complex": np.arange(20) + 0j,
        }.items()
    },
    "no train": saved("split_dict.pt", without("train")),
    "no test-whole": saved("split_dict.pt", without("test-whole")),
    "splits in a list": saved("split_dict.pt", lambda content: list(content.values())),
    "a split too many": saved("split_dict.pt", with_values(more=np.arange(3))),
    **{
        f"{what}: {name}": of_array(path, edit)
        for what, path in (
            ("features", f"{PAPERS}/node_feat.npy"),
            ("labels", f"{PAPERS}/node_label.npy"),
            ("edges", CITES),
        )
        for name, edit in {
            "big ends": lambda a: a.astype(a.dtype.newbyteorder(">")),
            "Fortran's order": np.asfortranarray, "transposed": lambda a: a.T.copy(),
            "flat": lambda a: a.ravel(), "a dimension more": lambda a: a[None],
            "one number": lambda a: a.ravel()[0], "none": lambda a: a[:0],
            "one row less": lambda a: a[:-1], "text": lambda a: a.astype(str),
            "switches": lambda a: a.astype(bool), "complex": lambda a: a.astype(complex),
            "64 bits": lambda a: a.astype(float), "8 bits": lambda a: a.astype(np.int8),
            "fields": lambda a: np.zeros(len(a), dtype=[("a", "i4")]),
            "dates": lambda a: a.astype(int).astype("datetime64[D]"),
            "records": lambda a: np.zeros(a.shape, dtype="V3"),
            "objects": lambda a: a.astype(object),
        }.items()
    },
    "an edge to nobody": of_array(CITES, with_cell((1, 0), 40)),
    "an edge from -1": of_array(CITES, with_cell((0, 0), -1)),
    "an edge far beyond": of_array(CITES, with_cell((0, 0), 2**62)),
    "a label too large": of_array(f"{PAPERS}/node_label.npy", with_cell(0, 4)),
    "a label of half": of_array(f"{PAPERS}/node_label.npy", with_cell(0, 0.5)),
    "a label of inf": of_array(f"{PAPERS}/node_label.npy", with_cell(0, np.inf)),
    "a label of nan in a split": of_array(f"{PAPERS}/node_label.npy", with_cell(0, np.nan)),
    "a label of nan elsewhere": of_array(f"{PAPERS}/node_label.npy", with_cell(39, np.nan)),
    "a label of 1e30": of_array(f"{PAPERS}/node_label.npy", with_cell(0, 1e30)),
    "features of nan": of_array(f"{PAPERS}/node_feat.npy", with_cell((0, 0), np.nan)),
    "features of inf": of_array(f"{PAPERS}/node_feat.npy", with_cell((0, 0), np.inf)),
    "a shape too large": of_header(CITES, (2, 10**12)),
    "a shape beyond 64 bits": of_header(CITES, (2, 10**30)),
    "a shape below 0": of_header(CITES, (2, -1)), "a shape of nothing": of_header(CITES, (2, 0)),
    "a shape of overflow": of_header(CITES, (2**32, 2**32)),
    "pickled": of_header(CITES, (2, 3), "|O", pickle.dumps([1] * 6)),
    "a code in a pickle": of_header(CITES, (2, 3), "|O", pickle.dumps(Code())),
    "an unknown kind": of_header(CITES, (2, 3), "<q9"),
    "a header of 60 kB": of_bytes(CITES, b"\x93NUMPY\x01\x00\xff\xff" + b" " * 65535),
    "a header without end": of_bytes(CITES, b"\x93NUMPY\x02\x00\xff\xff\xff\x7f{"),
    "a header of code": of_bytes(
        CITES, b"\x93NUMPY\x01\x00\x20\x00__import__('os').system('true')\n"
    ),
    "an npz": lambda f: np.savez((f / CITES).open("wb"), np.arange(3)),
    "a sparse file of 1 TB": lambda f: os.truncate(f / CITES, 2**40),
}  # fmt: skip

SET_DAMAGES: Final[dict[str, dict[str, Change]]] = {
    "graphsage": _OF_A_GRAPH, "node_embedding": _OF_A_GRAPH, "rgat": _OF_KINDS,
    "rgat on MAG240M": _OF_MAG, "lenet": OF_IMAGES,
}  # fmt: skip
"""Damages of each set by the trainable that takes it, and their names."""
