import math

import pytest
import torch

from orchestrator.measurement.run import Context, Run
from orchestrator.trial import Budget
from tests.trainables.running import Reports, context, train_once
from trainables.data.sets.digits import DIGITS
from trainables.lenet import LeNetConfig, lenet
from trainables.losses import EpochLoss
from trainables.parallel import Ranks

RUN = Run(Context(seed=0, budget=Budget(epochs=1)), Reports())
ALONE = Ranks.of(RUN)


def counted(loss: EpochLoss, *losses: float) -> EpochLoss:
    for value in losses:
        loss.add(torch.tensor(4 * value), 4)
    return loss


def test_is_the_mean_over_samples() -> None:
    loss = counted(EpochLoss(ALONE, RUN, log_every=0), 2.0, 4.0)
    loss.add(torch.tensor(8.0), 1)
    assert loss.mean(0) == pytest.approx((8 + 16 + 8) / 9)
    assert counted(loss, 1.0).mean(1) == 1.0, "counting starts anew"


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_names_the_step_since_which_it_is_not_finite(bad: float) -> None:
    loss = counted(EpochLoss(ALONE, RUN, log_every=0), *[1.0] * 10)
    loss.mean(0)
    counted(loss, 1.0, 1.0, bad, 1.0, bad, -bad)
    with pytest.raises(FloatingPointError, match="not finite since step 13 of 16"):
        loss.mean(1)


def test_a_loss_that_has_exploded_has_diverged() -> None:
    loss = counted(EpochLoss(ALONE, RUN, log_every=0), 2.0, 150.0, 40.0)
    assert loss.mean(0) == 64.0, "a spike is none yet"
    counted(loss, 500.0, 1.0)
    with pytest.raises(FloatingPointError, match="exploded: 250"):
        loss.mean(1)


@pytest.mark.gpu
def test_a_step_that_the_loss_scale_skips_is_a_step() -> None:
    config = LeNetConfig(amp="fp16", data_path="resident", device="cuda")
    reports = train_once(lenet, config, context(DIGITS, epochs=2, device="cuda:0"))
    steps = reports.metric("steps")
    # The first scale, 65536, is too large: the first steps change nothing, and count.
    assert steps[1] == 2 * steps[0]
    assert math.isfinite(reports.metric("train_loss")[-1])


def test_logged_steps_are_counted_over_the_epochs(capsys: pytest.CaptureFixture[str]) -> None:
    loss = counted(EpochLoss(ALONE, RUN, log_every=4), 6.0, 5.0, 4.0)
    loss.mean(0)
    counted(loss, 3.0, 2.0)
    assert capsys.readouterr().out == "step 4: loss 3.000000\n"
