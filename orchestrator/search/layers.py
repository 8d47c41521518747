"""Order of points with several objectives: non-dominated layers, within a layer an epsilon-net.

With one objective it is the order of its values. Equal points keep the order they came in.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

Point = Sequence[float]
"""A figure for each objective, finite."""


def non_dominated_layers(points: Sequence[Point], signs: Sequence[float]) -> list[list[int]]:
    """Return the indices of ``points``, layer by layer.

    No point of a layer is dominated by another one of it or of a later one; each is dominated by
    one of the layer before. A point dominates another that it is nowhere worse than and somewhere
    better. Equal points are in the same layer. (Efficient non-dominated sort with binary search:
    Zhang, Tian, Cheng and Jin, IEEE Transactions on Evolutionary Computation 19(2), 2015.)

    Args:
        points: ``(N, M)``.
        signs: For each of the M objectives +1 where larger is better, -1 where smaller is.

    Returns:
        The layers, the best first, each ascending.
    """
    better = [_signed(point, signs) for point in points]
    layers: list[list[int]] = []
    # In this order no point dominates one before it.
    for index in sorted(range(len(better)), key=lambda i: better[i], reverse=True):
        point = better[index]
        # A layer with a point that dominates this one comes after others that have one too.
        place = bisect_left(layers, True, key=lambda layer: not _is_dominated(point, layer, better))
        if place == len(layers):
            layers.append([])
        layers[place].append(index)
    return [sorted(layer) for layer in layers]


def epsilon_net(points: Sequence[Point]) -> list[int]:
    """Return the indices of ``points`` in an order in which every beginning is spread out.

    The first is the point best in the first objective, then comes, again and again, the point
    farthest from all before it. Distances are Euclidean, each objective scaled to the range that
    it has here. (Gonzalez's farthest-first traversal; its use for trials of several objectives:
    Schmucker, Donini, Zafar, Salinas and Archambeau, "Multi-objective Asynchronous Successive
    Halving", arXiv 2106.12639, 2021.)

    Args:
        points: ``(N, M)``, larger is better in each objective.
    """
    import numpy as np

    if not points:
        return []
    values = np.array(points, dtype=float)
    span = np.ptp(values, axis=0)
    scaled = (values - values.min(axis=0)) / np.where(span > 0, span, 1.0)
    order = [max(range(len(points)), key=lambda i: (tuple(points[i]), -i))]
    nearest = np.full(len(points), np.inf)
    while len(order) < len(points):
        # Rounded: equal distances stay equal whatever the objectives' scales.
        distances = ((scaled - scaled[order[-1]]) ** 2).sum(axis=1).round(12)
        nearest = np.minimum(nearest, distances)
        nearest[order] = -1.0
        order.append(int(nearest.argmax()))
    return order


def ordered(points: Sequence[Point], signs: Sequence[float]) -> list[int]:
    """Return the indices of ``points``, the best first; see :func:`top`."""
    order: list[int] = []
    for layer in non_dominated_layers(points, signs):
        net = epsilon_net([_signed(points[i], signs) for i in layer])
        order += [layer[i] for i in net]
    return order


def top(points: Sequence[Point], signs: Sequence[float], keep: int) -> set[int]:
    """Return the indices of the best ``keep`` of ``points``.

    Args:
        points: ``(N, M)``.
        signs: For each of the M objectives +1 where larger is better, -1 where smaller is.
        keep: How many. All where there are fewer points.
    """
    if len(signs) == 1:
        return set(sorted(range(len(points)), key=lambda i: -points[i][0] * signs[0])[:keep])
    return set(ordered(points, signs)[:keep])


def _signed(point: Point, signs: Sequence[float]) -> tuple[float, ...]:
    return tuple(value * sign for value, sign in zip(point, signs, strict=True))


def _is_dominated(point: Point, layer: Sequence[int], better: Sequence[Point]) -> bool:
    """Return True if a point of ``layer`` dominates ``point``; the last one most often does.

    With two objectives the last one is the best in the second, and so dominates if any does.
    """
    if len(point) == 2:
        layer = layer[-1:]
    return any(
        better[i] != point and all(a >= b for a, b in zip(better[i], point, strict=True))
        for i in reversed(layer)
    )
