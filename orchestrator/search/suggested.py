"""The domain of values that an Optuna objective suggests while it runs.

They are one knob, the text of an object in JSON: ``{"lr": 0.01, "layers": 2}``. Values that it
lacks are drawn in the trial at random, by the text: the same text gives the same values. So ``{}``
and ``{"draw": 7}`` are two random draws of all of them.
"""

import json
import random
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.space.domains import Interval
from orchestrator.space.knob import MOST_OF_A_TEXT

VALUES: Final = "values"
"""Name of the knob."""
SPACE: Final = "suggested"
"""Tag of a trial: value and distribution of each name in JSON, in the order of the suggestions."""


@dataclass(frozen=True, repr=False)
class Suggested(Interval):
    """All that an objective may suggest. An interval of the numbers of random draws."""

    low: float = 0
    high: float = 999_999
    integer: bool = True

    def sample(self, rng: random.Random) -> Any:  # noqa: ANN401 - a text, not a number
        """Return a random draw."""
        return json.dumps({"draw": rng.randrange(int(self.high) + 1)})

    def points(self, count: int) -> tuple[Any, ...]:
        """Return as many draws."""
        return tuple(json.dumps({"draw": number} if number else {}) for number in range(count))

    def every_value(self, most: int = 0) -> None:
        """Return None: they are not known."""

    def contains(self, value: object) -> bool:
        """Return True for any text that a knob takes."""
        return isinstance(value, str) and len(value) <= MOST_OF_A_TEXT

    def __repr__(self) -> str:
        return "what the objective suggests"
