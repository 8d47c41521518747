"""A model of the speeds, from the speeds of some settings."""

import math
import random

from orchestrator.search.factored.speed_model import SpeedModel
from tests.orchestrator.search.factored.simulated import LARGE, Truth, findings
from tests.orchestrator.search.playing import completed


def test_a_quarter_of_the_settings_predicts_the_speeds_of_the_others() -> None:
    known, truth, rng = findings(LARGE), Truth(3), random.Random(0)
    true = {
        setting: truth.speed(known.config(group.to_probe(setting)))
        for group in known.factors.groups
        for setting in group.settings
    }
    for setting in rng.sample(list(true), len(true) // 4):
        rate = true[setting] * math.exp(rng.gauss(0, 0.03))
        known.speeds.add(setting, completed(samples_per_s=rate))
    model = SpeedModel(known.factors)
    model.fit(known.speeds)
    others = [setting for setting in true if not known.speeds.num_runs(setting)]
    pairs = zip(others, model.predicted(others), strict=True)
    errors = [(math.log(true[setting]) - mean, deviation) for setting, (mean, deviation) in pairs]
    assert sum(abs(error) < 0.1 for error, _ in errors) > 0.9 * len(others)
    assert sum(abs(error) < 2.6 * deviation for error, deviation in errors) > 0.95 * len(others)
