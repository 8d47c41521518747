"""Order of points with several objectives: non-dominated layers, within a layer an epsilon-net.

With one objective it is the order of its values. Equal points keep the order they came in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Point = Sequence[float]
"""A figure for each objective, finite."""


def non_dominated_layers(points: Sequence[Point], signs: Sequence[float]) -> list[list[int]]:
    """Return the indices of ``points``, layer by layer.

    No point of a layer is dominated by another one of it or of a later one; each is dominated by
    one of the layer before. A point dominates another that it is nowhere worse than and somewhere
    better. Equal points are in the same layer.

    Args:
        points: ``(N, M)``.
        signs: For each of the M objectives +1 where larger is better, -1 where smaller is.

    Returns:
        The layers, the best first, each ascending.
    """
    if not points:
        return []
    import moocore

    ranks = moocore.pareto_rank(_signed(points, signs), maximise=True)
    return [(ranks == rank).nonzero()[0].tolist() for rank in range(ranks.max() + 1)]


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
    better = [tuple(point) for point in _signed(points, signs)]
    for layer in non_dominated_layers(points, signs):
        net = epsilon_net([better[i] for i in layer])
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


def _signed(points: Sequence[Point], signs: Sequence[float]) -> NDArray[np.float64]:
    import numpy as np

    values = np.array(points, dtype=np.float64).reshape(len(points), len(signs))
    return values * np.array(signs, dtype=np.float64)
