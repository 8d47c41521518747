"""Figures of a classifier on a split: shares of right answers, loss, and what they compare with."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from orchestrator.metrics import Objective, maximize, minimize
from trainables.data.formats.arrays import Array

OBJECTIVES: tuple[Objective, ...] = (
    maximize("val_acc"),
    maximize("val_balanced_acc"),
    maximize("val_auc"),
    minimize("val_loss"),
)
"""Objectives of a classifier; ``val_auc`` if there are two classes."""

_ROWS = 2**16
"""Rows of one computation of losses, in float32."""


@torch.no_grad()
def classified(split: str, scores: Tensor, labels: Tensor) -> dict[str, float]:
    """Return the figures of a split by metric name: ``val_acc`` and so on; {} for no samples.

    Args:
        split: First part of the names, ``val`` or ``test``.
        scores: Before the softmax, of any float type, ``(samples, classes)``.
        labels: Class of each sample, ``(samples,)``.

    Returns:
        ``acc``, the share classified right; ``balanced_acc``, the mean of that share over the
        classes that occur; ``loss``, the mean cross-entropy; ``auc``, where there are two
        classes and both occur; ``majority_share``, the share of the most frequent class;
        ``classes_predicted``, the number of classes that are predicted at all.
    """
    if not len(labels):
        return {}
    there = labels.to(scores.device)
    predicted, known = scores.argmax(1).cpu(), labels.cpu()
    of_class = torch.bincount(known)
    right = torch.bincount(known[predicted == known], minlength=len(of_class))
    recalls = (right / of_class)[of_class > 0]
    figures = {
        "acc": int(right.sum()) / len(known),
        "balanced_acc": float(recalls.double().mean()),
        "loss": _mean_loss(scores, there),
        "majority_share": int(of_class.max()) / len(known),
        "classes_predicted": float(len(predicted.unique())),
    }
    if scores.shape[1] == 2 and len(recalls) == 2:
        figures["auc"] = _auc(scores, known)
    return {f"{split}_{name}": figure for name, figure in figures.items()}


def auc(positive: Array, negative: Array) -> float:
    """Area under the ROC curve: how often a positive scores higher than a negative.

    Mann and Whitney's statistic; a tie counts half.

    Args:
        positive: Scores of the positives, ``(n,)``.
        negative: Scores of the others, ``(m,)``.
    """
    ascending = np.sort(negative)
    below = np.searchsorted(ascending, positive, side="left")
    not_above = np.searchsorted(ascending, positive, side="right")
    return float((below + not_above).mean() / (2 * len(negative)))


def _mean_loss(scores: Tensor, labels: Tensor) -> float:
    total = torch.zeros((), dtype=torch.float64, device=scores.device)
    for rows, of_rows in zip(scores.split(_ROWS), labels.split(_ROWS), strict=True):
        total += functional.cross_entropy(rows.float(), of_rows, reduction="sum")
    return float(total) / len(labels)


def _auc(scores: Tensor, labels: Tensor) -> float:
    """Return the AUC of the margin: the probability of a class saturates, the margin does not."""
    margins: Array = (scores[:, 1].float() - scores[:, 0].float()).cpu().numpy()
    is_positive = labels.numpy() == 1
    return auc(margins[is_positive], margins[~is_positive])
