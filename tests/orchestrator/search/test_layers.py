"""Layers and epsilon-nets against their definitions, on random points with many equal ones."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cache

import pytest

from orchestrator.search.layers import epsilon_net, non_dominated_layers, ordered, top

SIGNS = ([1.0], [-1.0], [1.0, 1.0], [1.0, -1.0], [-1.0, 1.0, 1.0])
"""Directions of one, two and three objectives."""


def tables(count: int) -> list[tuple[list[tuple[float, ...]], list[float]]]:
    """Return random points with directions, some of few values so that many are equal."""
    rng = random.Random(7)
    made = []
    for index in range(count):
        signs = SIGNS[index % len(SIGNS)]
        num_values = rng.choice([2, 4, 1000])
        points = [
            tuple(float(rng.randrange(num_values)) for _ in signs)
            for _ in range(rng.randint(0, 14))
        ]
        made.append((points, list(signs)))
    return made


def dominates(a: tuple[float, ...], b: tuple[float, ...], signs: list[float]) -> bool:
    """Return True if ``a`` is nowhere worse and somewhere better."""
    gains = [(x - y) * sign for x, y, sign in zip(a, b, signs, strict=True)]
    return min(gains) >= 0 and max(gains) > 0


def peeled(points: list[tuple[float, ...]], signs: list[float]) -> list[list[int]]:
    """Return the layers by their definition: what nothing dominates, again and again."""
    left, layers = list(range(len(points))), []
    while left:
        layer = [i for i in left if not any(dominates(points[j], points[i], signs) for j in left)]
        layers.append(layer)
        left = [i for i in left if i not in layer]
    return layers


def spread(points: list[tuple[float, ...]]) -> list[int]:
    """Return the epsilon-net by its definition, in fractions, all distances at each step."""

    columns = [[Fraction(x) for x in column] for column in zip(*points, strict=True)]
    spans = [max(column) - min(column) or Fraction(1) for column in columns]

    @cache
    def distance(i: int, j: int) -> Fraction:
        gaps = [(c[i] - c[j]) / span for c, span in zip(columns, spans, strict=True)]
        return sum((gap**2 for gap in gaps), start=Fraction(0))

    order: list[int] = []
    while len(order) < len(points):
        left = [i for i in range(len(points)) if i not in order]
        if not order:
            order.append(min(left, key=lambda i: (tuple(-x for x in points[i]), i)))
            continue
        far = {i: min(distance(i, j) for j in order) for i in left}
        order.append(max(left, key=lambda i: (far[i], -i)))
    return order


def test_layers_are_what_is_peeled_off_again_and_again() -> None:
    for points, signs in tables(1000):
        assert non_dominated_layers(points, signs) == peeled(points, signs)


def test_an_epsilon_net_takes_the_farthest_point_each_time() -> None:
    for points, _ in tables(1000):
        found = epsilon_net(points)
        assert sorted(found) == list(range(len(points)))
        assert found == spread(points)


@pytest.mark.parametrize("keep", [0, 1, 3, 20])
def test_the_top_are_the_beginning_of_the_order(keep: int) -> None:
    for points, signs in tables(200):
        signed = [tuple(x * s for x, s in zip(p, signs, strict=True)) for p in points]
        order = [
            layer[i] for layer in peeled(points, signs) for i in spread([signed[i] for i in layer])
        ]
        assert ordered(points, signs) == order
        assert top(points, signs, keep) == set(order[:keep])
