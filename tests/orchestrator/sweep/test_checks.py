"""Each field of a sweep is checked before anything of it has run."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.sweep.checks import findings
from orchestrator.sweep.loading import load_sweep
from tests.orchestrator.sweep.refusals import refusal
from tests.orchestrator.sweep_files import line_of, written

BAD_FIELDS = [
    ("space=Config(wokers=3)", "'wokers' is not a knob of Config; did you mean 'workers'?",
     "knobs: lr, workers, prefetch, amp"),
    ("space=Config(workers=-1)", "Config.workers = -1 is not allowed", "an int >= 0"),
    ("space=Config(workers='3')", "Config.workers = '3' is not allowed", "an int >= 0"),
    ("space=Config(workers=choice())", "choice() of no values leaves nothing", "an int >= 0"),
    ("space=Config(lr=uniform(1, 0.1))", "`low <= high` must hold", "a float > 0"),
    ("space={'lr': choice(0.1), 'lrr': 1}", "'lrr' is not a knob of Config", "knobs: lr"),
    ("space=3", "space is of type int, not Config", "Config(...) or a mapping"),
    ("baseline=Config(lr=0.0)", "Config.lr = 0.0 is not allowed", "a float > 0"),
    ("baseline=Config(lr=choice(0.1, 1.0))", "baseline varies lr over choice(0.1, 1.0)",
     "one value for every knob"),
    ("epochs=0", "epochs = 0 is not allowed", "an int >= 1"),
    ("epochs=1.5", "epochs = 1.5 is not allowed", "an int >= 1"),
    ("steps=0", "steps = 0 is not allowed", "an int >= 1, or None"),
    ("rigor=Rigor(half_width=0.0)", "rigor.half_width = 0.0", "> 0 and < 1, or None"),
    ("rigor=Rigor(half_width='3 %')", "rigor.half_width = '3 %'", "> 0 and < 1, or None"),
    ("rigor=Rigor(repeats=0)", "rigor.repeats = 0", "an int >= 1"),
    ("rigor=Rigor(confirm=10**9)", "rigor.confirm = 1000000000", "an int >= 0 and <= 100000"),
    ("rigor=Rigor(max_repeats=0)", "rigor.max_repeats = 0", "an int >= 1"),
    ("rigor=Rigor(max_confirm=-1)", "rigor.max_confirm = -1", "an int >= 0"),
    ("rigor=Rigor(finalists=0)", "rigor.finalists = 0", "an int >= 1"),
    ("rigor=Rigor(check_isolated=True)", "rigor.check_isolated = True", "an int >= 0"),
    ("rigor=Rigor(tie_margin=1.0)", "rigor.tie_margin = 1.0", ">= 0 and < 1"),
    ("rigor=Rigor(tie_margin='2 %')", "rigor.tie_margin = '2 %'", ">= 0 and < 1"),
    ("rigor='quik'", "rigor = 'quik' is not allowed; did you mean 'quick'?", "quick, standard"),
    ("rigor=Rigor", "rigor = Rigor is not allowed", "Rigor(...)"),
    ("rigor=Rigor(confirm=-1)", "rigor.confirm = -1", "an int >= 0"),
    ("rigor=Rigor(retries=-1)", "rigor.retries = -1", "an int >= 0"),
    ("seed=-1", "seed = -1 is not allowed", "an int >= 0"),
    ("seed='a'", "seed = 'a' is not allowed", "an int >= 0"),
    ("cores_per_trial=0", "cores_per_trial = 0 is not allowed", "NODE, or an int >= 1"),
    ("cores_per_trial=True", "cores_per_trial = True is not allowed", "NODE, or an int >= 1"),
    ("cores_per_trial='node'", "cores_per_trial = 'node' is not allowed", "NODE, or an int"),
    ("rigor=Rigor(accuracy_tolerance=1.0)", "rigor.accuracy_tolerance = 1.0", ">= 0 and < 1"),
    ("rigor=Rigor(accuracy_tolerance=-0.1)", "rigor.accuracy_tolerance = -0.1", ">= 0 and < 1"),
    ("rigor=Rigor(time_limit_s=0)", "rigor.time_limit_s = 0", "seconds > 0 and <= 1e9, or None"),
    ("memory_per_trial_gib=0", "memory_per_trial_gib = 0 is not allowed", "GiB > 0, or None"),
    ("trial_s=6.0", "trial_s = 6.0 is not allowed", "a mapping of names of data sets to seconds"),
    ("trial_s={'digit': 6.0}", "trial_s: unknown data 'digit'; did you mean 'digits'?",
     "mnist, digits"),
    ("trial_s={'digits': 0}", "trial_s: 'digits' = 0 is not allowed", "seconds > 0"),
    ("search=Grid", "search = Grid is a class", "allowed: Grid()"),
    ("search='grid'", "search = 'grid' is not allowed", "Grid(), Random(40)"),
    ("search=Random(0)", "Random: trials = 0 is not allowed", "an int >= 1"),
    ("search=Grid(points=0)", "Grid: points = 0 is not allowed", "an int >= 1"),
    ("data='minst'", "data: unknown data 'minst'; did you mean 'mnist'?", "mnist, digits"),
    ("data=3", "data = 3 is not allowed", "mnist, digits"),
    ("embedded_data='digit'", "embedded_data: unknown data 'digit'; did you mean 'digits'?",
     "mnist, digits"),
    ("embedded_data='mnist'", "embedded_data: 'mnist' is not embedded", "allowed: digits"),
    ("isolation='leased'", "isolation = 'leased' is not allowed", "Isolation.LEASED"),
    ("rigor=Rigor(interleaved=1)", "rigor.interleaved = 1", "True or False"),
    ("constraints=['no']", "constraints: 'no' is not allowed", "functions of a config"),
    ("published=[Published(source='s', knobs={'worker': 3}, figures={})]",
     "published: 'worker' is not a knob; did you mean 'workers'?", "knobs: lr"),
    ("published=[Published(source='s', knobs={}, figures={}, data=3)]",
     "published: data = 3 is not allowed", "a str"),
    ("published=['s']", "published: 's' is not allowed", "Published(...)"),
    ("published=Published(source='s', knobs={}, figures={})", "published = Published(",
     "a list of Published(...)"),
    ("published=None", "published = None is not allowed", "a list of Published(...)"),
    ("published=[Published(source='s', knobs={'workers': '3'}, figures={})]",
     "published: workers = '3' is not allowed", "an int >= 0"),
    ("published=[Published(source='s', knobs={'amp': 'bf61'}, figures={})]",
     "published: amp = 'bf61' is not allowed; did you mean 'bf16'?", "one of 'off', 'bf16'"),
    ("published=[Published(source='s', knobs=['workers'], figures={})]",
     "published: knobs = ['workers'] is not allowed", "a mapping of knobs to their values"),
    ("published=[Published(source='s', knobs={}, figures={'epoch_s': '9'})]",
     "published: figures = {'epoch_s': '9'} is not allowed", "a mapping of metrics to numbers"),
    ("published=[Published(source='s', knobs={}, figures=9.0)]",
     "published: figures = 9.0 is not allowed", "a mapping of metrics to numbers"),
    ("constraints=requires(lambda c: True, 'no')", "constraints = <function",
     "a list of functions"),
    ("constraints=None", "constraints = None is not allowed", "a list of functions"),
    ("rigor=Rigor(time_limit_s=10**400)", "rigor.time_limit_s = 1000", "seconds > 0"),
    ("seed=10**5000", "seed = ", "an int >= 0"),
    ("question=3", "question = 3 is not allowed", "a str"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("field", "message", "allowed"), BAD_FIELDS, ids=[field for field, _, _ in BAD_FIELDS]
)
def test_a_bad_field_is_named_with_its_line_and_what_is_allowed(
    tmp_path: Path, field: str, message: str, allowed: str
) -> None:
    others = {"question": "'?'", "space": "Config(lr=choice(0.1, 0.2))"}
    others.pop(field.partition("=")[0], None)
    rest = "".join(f"    {name}={value},\n" for name, value in others.items())
    path = written(tmp_path, f"SWEEP = Sweep(\n    TRAINABLE,\n{rest}    {field},\n)\n")
    error = refusal(path)

    place, _, said = error.message.partition(": ")
    assert place == f"{path}:{line_of(path, f'    {field},')}"
    assert message in said
    assert allowed in error.hint


def test_a_sweep_that_is_made_elsewhere_is_checked_all_the_same(tmp_path: Path) -> None:
    tail = (
        "def make(epochs):\n"
        "    return Sweep(TRAINABLE, question='?', space=Config(), epochs=epochs)\n"
        "SWEEP = make(0)\n"
    )
    path = written(tmp_path, tail)

    assert refusal(path).message.endswith(": epochs = 0 is not allowed")


def test_a_config_class_without_a_knob_leaves_nothing_to_vary(tmp_path: Path) -> None:
    tail = (
        "@knobs\nclass Nothing:\n    pass\n"
        "SWEEP = Sweep(Trainable(train, Nothing), question='?', space=Nothing())\n"
    )
    error = refusal(written(tmp_path, tail))
    assert error.message.endswith(": Nothing has no knob, so there is nothing to vary")
    assert "a knob for each setting" in error.hint


def test_a_good_sweep_has_no_findings(tmp_path: Path) -> None:
    sweep = load_sweep(written(tmp_path))
    assert list(findings(sweep)) == []
