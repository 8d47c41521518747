import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss, roc_auc_score

from trainables import classification
from trainables.classification import classified


@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true")
@given(st.integers(2, 5), st.integers(1, 60), st.integers(0, 2**31))
def test_figures_are_scikit_learn_s(num_classes: int, num_samples: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(num_classes, size=num_samples)
    # Whole numbers: many samples have the same margin.
    scores = torch.from_numpy(rng.integers(-3, 4, (num_samples, num_classes))).float()
    found = classified("val", scores, torch.from_numpy(labels))
    predicted = scores.argmax(1).numpy()
    assert found["val_acc"] == pytest.approx(accuracy_score(labels, predicted))
    expected = log_loss(labels, scores.double().softmax(1), labels=range(num_classes))
    assert found["val_loss"] == pytest.approx(expected, rel=1e-5, abs=1e-6)  # in single precision
    assert found["val_majority_share"] == np.bincount(labels).max() / num_samples
    assert found["val_classes_predicted"] == len(set(predicted))
    if len(set(labels)) > 1:  # scikit-learn warns about a single class
        assert found["val_balanced_acc"] == pytest.approx(
            balanced_accuracy_score(labels, predicted)
        )
    assert ("val_auc" in found) == (num_classes == 2 and len(set(labels)) == 2)
    if "val_auc" in found:
        margin = (scores[:, 1] - scores[:, 0]).numpy()
        assert found["val_auc"] == pytest.approx(roc_auc_score(labels, margin))


def test_auc_distinguishes_margins_with_probabilities_of_one() -> None:
    scores = torch.tensor([[0.0, 60.0], [0.0, 50.0]])
    assert classified("val", scores, torch.tensor([1, 0]))["val_auc"] == 1.0


def test_nothing_is_known_of_an_empty_split() -> None:
    assert classified("val", torch.zeros(0, 3), torch.zeros(0, dtype=torch.int64)) == {}


def test_losses_of_half_precision_are_summed_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classification, "_ROWS", 7_000)
    scores = torch.zeros(100_000, 3, dtype=torch.bfloat16)
    labels = torch.zeros(len(scores), dtype=torch.int64)
    assert classified("val", scores, labels)["val_loss"] == pytest.approx(math.log(3), rel=1e-6)
