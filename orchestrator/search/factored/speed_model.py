"""A model of the settings' speeds: what the probes of some say of the others.

A Gaussian process over the logarithm of speed. Its kernel is a product over the knobs of one plus
a kernel of the knob alone: so it has effects of single knobs, of pairs, and so on, which all groups
share (Durrande, Ginsbourger, Roustant and Carraro, "ANOVA kernels and RKHS of zero mean functions
for model-based sensitivity analysis", Journal of Multivariate Analysis 115, 2013). In addition each
setting has a deviation of its own. The variances are those of the largest likelihood.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from orchestrator.kernel.problem import Key
from orchestrator.search.factored.factors import Factors
from orchestrator.search.factored.speeds import Speeds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CHANCE: Final = 0.1
"""Probability to be faster than the group's best by more than the margin, below which a setting
is not probed, or not again."""

REACH: Final = 1.5
"""Ranks of an ordered knob's values over which speeds are alike."""

MOST_FITTED: Final = 250
"""Settings that the variances are estimated from, drawn at random from more: the time grows with
the cube of their number."""

_FAR, _SAME = 1e6, 1e-3  # length scales of knobs that a kernel ignores, and of equal settings
_UNORDERED: Final = 10.0
"""Ranks between values that have no order: their speeds are not alike."""


class SpeedModel:
    """Speeds of all settings, estimated from those that were probed.

    Args:
        factors: The settings and their knobs.
    """

    def __init__(self, factors: Factors) -> None:
        settings = [setting for group in factors.groups for setting in group.settings]
        ranks = [_ranks(column) for column in zip(*settings, strict=True) if len(set(column)) > 1]
        self._at = {s: tuple(at) for s, at in zip(settings, zip(*ranks, strict=True), strict=True)}
        self._num_fitted = 0
        self._kernel: Any = None

    def fit(self, speeds: Speeds) -> None:
        """Take the speeds that are known; estimate the variances where there are many more."""
        import numpy as np
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.gaussian_process import GaussianProcessRegressor

        known = [setting for setting in self._at if speeds.num_runs(setting)]
        if not known:
            return
        places = self._places(known)
        logs = np.array([speeds.mean(setting) for setting in known])
        noise = speeds.spread**2 / np.array([speeds.num_runs(setting) for setting in known])
        self._centre = float(logs.mean())
        if len(known) > 1.3 * self._num_fitted:
            some = random.Random(f"{len(known)} speeds").sample(
                range(len(known)), min(len(known), MOST_FITTED)
            )
            kernel = _kernel(places.shape[1], max(float(logs.var()), 1e-4))
            model = GaussianProcessRegressor(kernel, alpha=noise[some])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # a variance at its bound
                self._kernel = model.fit(places[some], logs[some] - self._centre).kernel_
            self._num_fitted = len(known)
        model = GaussianProcessRegressor(self._kernel, alpha=noise, optimizer=None)
        self._model = model.fit(places, logs - self._centre)

    @property
    def is_fitted(self) -> bool:
        """True once a speed was known."""
        return self._num_fitted > 0

    def predicted(self, settings: Sequence[Key]) -> list[tuple[float, float]]:
        """Return the mean of the logarithm of each speed, and its standard deviation."""
        means, deviations = self._model.predict(self._places(settings), return_std=True)
        return [(self._centre + float(m), float(s)) for m, s in zip(means, deviations, strict=True)]

    def contenders(self, settings: Sequence[Key], margin: float) -> list[Key]:
        """Return the setting that is probably the fastest, and those that may be faster yet.

        Args:
            settings: The settings of a group that can run.
            margin: A difference in speed that counts as none, as a fraction of 1.
        """
        import numpy as np
        from scipy.special import ndtri

        means, covariances = self._model.predict(self._places(settings), return_cov=True)
        best, variances = int(means.argmax()), covariances.diagonal()
        differing = variances + variances[best] - 2 * covariances[best]
        highest = means - means[best] - ndtri(CHANCE) * np.sqrt(np.maximum(differing, 0.0))
        others = [i for i in (highest > math.log1p(margin)).nonzero()[0] if i != best]
        return [settings[i] for i in (best, *others)]

    def _places(self, settings: Sequence[Key]) -> NDArray[np.float64]:
        import numpy as np

        return np.array([self._at[setting] for setting in settings], dtype=np.float64)


def _ranks(column: Sequence[Any]) -> list[float]:
    """Return each value's rank among the knob's values; those without an order are far apart."""
    values = sorted(set(column), key=lambda value: (str(type(value)), value))
    apart = _UNORDERED if isinstance(values[0], str | bool) else 1.0
    ranks: Mapping[Any, float] = {value: apart * rank for rank, value in enumerate(values)}
    return [ranks[value] for value in column]


def _kernel(num_knobs: int, variance: float) -> Any:  # noqa: ANN401 - scikit-learn has no types
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    kernel = ConstantKernel(variance / 4, (1e-6, 10))
    for knob in range(num_knobs):
        reaches = [REACH if each == knob else _FAR for each in range(num_knobs)]
        alone = ConstantKernel(1.0, (1e-3, 50)) * RBF(reaches, "fixed")
        kernel = kernel * (ConstantKernel(1.0, "fixed") + alone)
    return kernel + ConstantKernel(variance / 50, (1e-6, 1)) * RBF(_SAME, "fixed")
