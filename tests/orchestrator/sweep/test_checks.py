"""Each field of a sweep is checked before anything of it has run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.metrics import at_least, at_most, maximize, minimize
from orchestrator.rules import fastest_within, weighted
from orchestrator.search import Asha, Factored
from orchestrator.sweep.checks import findings
from orchestrator.sweep.loading import load_sweep
from tests.orchestrator.helpers.sweep_files import line_of, refusal, written

IMPORTS = (
    "from orchestrator import Asha, at_least, at_most, fastest_within, knee, minimize, weighted\n"
    "from orchestrator.tracking import Csv\n"
)
BAD_FIELDS = [
    ("space=Config(wokers=3)", "'wokers' is not a knob of Config; did you mean 'workers'?",
     "knobs: lr, workers, prefetch, amp"),
    ("space=Config(workers=-1)", "Config.workers = -1 is not allowed", "an int >= 0"),
    ("space=Config(workers=choice())", "choice() of no values leaves nothing", "an int >= 0"),
    ("space={'lr': choice(0.1), 'lrr': 1}", "'lrr' is not a knob of Config", "knobs: lr"),
    ("space=3", "space is of type int, not Config", "Config(...) or a mapping"),
    ("baseline=Config(lr=0.0)", "Config.lr = 0.0 is not allowed", "a float > 0"),
    ("baseline=Config(lr=choice(0.1, 1.0))", "baseline varies lr over choice(0.1, 1.0)",
     "one value for every knob"),
    ("epochs=0", "epochs = 0 is not allowed", "an int >= 1"),
    ("seed=10**5000", "seed = 0x", "an int >= 0"),
    ("rigor=Rigor(half_width=0.0)", "rigor.half_width = 0.0", "> 0 and < 1, or None"),
    ("rigor=Rigor(confirm=10**9)", "rigor.confirm = 1000000000", "an int >= 0 and <= 100000"),
    ("rigor=Rigor(tie_margin='2 %')", "rigor.tie_margin = '2 %'", ">= 0 and < 1"),
    ("rigor='quik'", "rigor = 'quik' is not allowed; did you mean 'quick'?", "quick, standard"),
    ("rigor=Rigor", "rigor = Rigor is not allowed", "Rigor(...)"),
    ("cores_per_trial=0", "cores_per_trial = 0 is not allowed", "NODE, or an int >= 1"),
    ("memory_per_trial_gib=0", "memory_per_trial_gib = 0 is not allowed", "GiB > 0, or None"),
    ("trial_s=6.0", "trial_s = 6.0 is not allowed", "a mapping of names of data sets to seconds"),
    ("trial_s={'digit': 6.0}", "trial_s: unknown data 'digit'; did you mean 'digits'?",
     "mnist, digits"),
    ("trial_s={'digits': 0}", "trial_s['digits'] = 0 is not allowed", "seconds > 0"),
    ("search=Grid", "search = Grid is a class", "allowed: Grid()"),
    ("search='grid'", "search = 'grid' is not allowed", "Grid(), Random(40)"),
    ("search=Grid(points=0)", "Grid: points = 0 is not allowed", "an int >= 1"),
    ("data='minst'", "data: unknown data 'minst'; did you mean 'mnist'?", "mnist, digits"),
    ("embedded_data='digit'", "embedded_data: unknown data 'digit'; did you mean 'digits'?",
     "mnist, digits"),
    ("embedded_data='mnist'", "embedded_data: 'mnist' is not embedded", "allowed: digits"),
    ("constraints=['no']", "constraints[0] = 'no' is not allowed", "functions of a config"),
    ("published=[Published(source='s', knobs={'worker': 3}, figures={})]",
     "published: 'worker' is not a knob; did you mean 'workers'?", "knobs: lr"),
    ("published=[Published(source='s', knobs={}, figures={}, data=3)]",
     "published[0].data = 3 is not allowed", "a list of Published(...)"),
    ("published=[Published(source='s', knobs={'workers': '3'}, figures={})]",
     "published: workers = '3' is not allowed", "an int >= 0"),
    ("published=[Published(source='s', knobs={'amp': 'bf61'}, figures={})]",
     "published: amp = 'bf61' is not allowed; did you mean 'bf16'?", "one of 'off', 'bf16'"),
    ("published=[Published(source='s', knobs={}, figures={'epoch_s': '9'})]",
     "published[0].figures['epoch_s'] = '9' is not allowed", "metrics to numbers"),
    ("trackers=[Csv]", "trackers[0] = <class ", "Csv(), TensorBoard(), and objects"),
    ("question=3", "question = 3 is not allowed", "a str"),
    ("objectives=[]", "objectives has 0 entries", "one to 3 of maximize(...)"),
    ("objectives=[at_least('val_acc', 0.9)]", "objectives has conditions alone",
     "at least one of maximize(...)"),
    ("objectives=[maximize('samples_per_s'), maximize('test_acc')]",
     "objectives: 'test_acc' would select by the test split", "validation metrics"),
    ("objectives=['val_acc', maximize('epoch_s')]", "objectives[0] = 'val_acc' is not allowed",
     "maximize(...)"),
    ("objectives=[maximize('epoch_s'), maximize('val_ac')]",
     "objectives: unknown metric 'val_ac'; did you mean 'val_acc'?", "samples_per_s, "),
    ("objectives=[maximize('val_acc'), minimize('val_acc')]", "'val_acc' is named twice", "one to"),
    ("objectives=[maximize(5), maximize('val_acc')]", "Objective: metric = 5 is not allowed",
     "the name of a metric"),
    ("objectives=[maximize('epoch_s'), at_least('val_acc', 97)]",
     "objectives: val_acc: bound = 97 is not allowed", "a fraction of 1, so 0.97 for 97 %"),
    ("objectives=[maximize('epoch_s'), at_most('peak_rss_gib', '20')]",
     "Objective: bound = '20' is not allowed", "a number"),
    ("objectives=[maximize('epoch_s'), maximize('val_acc', tolerance=1.5)]",
     "objectives: val_acc: tolerance = 1.5 is not allowed", "a fraction of 1"),
    ("rule=fastest_within('val_ac', 0.01)",
     "rule: 'val_ac' is no objective of the sweep; did you mean 'val_acc'?", "samples_per_s"),
    ("rule=fastest_within(tolerance=0.01)", "rule: an objective and its tolerance",
     'fastest_within("val_acc", 0.01)'),
    ("rule=fastest_within('val_acc')", "stated together", 'fastest_within("val_acc", 0.01)'),
    ("rule=knee", "rule = knee is not allowed", "knee is to be called: knee(...)"),
    ("rule=weighted()", "rule = weighted() has no weights", "weighted(samples_per_s=1, ...)"),
    ("rule=weighted(val_acc=0)", "rule.weights['val_acc'] = 0 is not allowed", "numbers > 0"),
    ("target=97", "target = 97 is not allowed", "a fraction of 1, at_least(...)"),
    ("target=at_least('val_acc', 1.5)", "target: val_acc: bound = 1.5 is not allowed", "0.97"),
    ("prices={'cpu_hours': 1}", "unknown price 'cpu_hours'; did you mean 'cpu_hour'?", "gpu_hour"),
    ("prices={'cpu_hour': -1}", "prices['cpu_hour'] = -1 is not allowed", "numbers >= 0"),
    ("stopping=Asha('val_acc', grace=9)", "no trial of epochs=9 can end early", "a smaller grace"),
    ("stopping=Asha('val_ac')", "'val_ac' is no objective of the sweep; did you mean 'val_acc'?",
     "or another as maximize(...) or minimize(...)"),
    ("stopping=Asha(maximize('val_accc'))", "stopping: unknown metric 'val_accc'", "val_acc"),
    ("stopping=Asha(maximize('time_to_accuracy_s'))",
     "time_to_accuracy_s is in no report of a trial that still trains", 'as in Asha("val_acc")'),
    ("stopping=Asha(factor=1)", "Asha: factor = 1 is not allowed", "an int >= 2"),
    ("stopping=Asha(grace='1')", "Asha: grace = '1' is not allowed", "an int >= 1"),
    ("stopping=Asha", "stopping = Asha is a class", "allowed: Asha()"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("field", "message", "allowed"), BAD_FIELDS, ids=[field for field, _, _ in BAD_FIELDS]
)
def test_a_bad_field_is_named_with_its_line_and_what_is_allowed(
    tmp_path: Path, field: str, message: str, allowed: str
) -> None:
    others = {"question": "'?'", "space": "Config(lr=choice(0.1, 0.2))", "epochs": "9"}
    others.pop(field.partition("=")[0], None)
    rest = "".join(f"    {name}={value},\n" for name, value in others.items())
    head = f"{IMPORTS}SWEEP = Sweep(\n    TRAINABLE,\n"
    path = written(tmp_path, f"{head}{rest}    {field},\n)\n")
    error = refusal(path)

    place, _, text = error.message.partition(": ")
    assert place == f"{path}:{line_of(path, f'    {field},')}"
    assert message in text
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


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"objectives": [maximize("samples_per_s"), at_least("val_acc", 0.97)]},
        {"objectives": [minimize("time_to_accuracy_s"), at_most("epoch_s", 9)]},
        {"rule": lambda configs: 0},
        {"rule": fastest_within("val_acc", 0.01)},
        {"rule": weighted(samples_per_s=1, val_acc=10)},
        {"target": maximize("val_acc", tolerance=0.005)},
        {"stopping": Asha(("samples_per_s", "val_acc"), grace=3, factor=2)},
        {"stopping": Asha(minimize("train_loss"), grace=8)},
    ],
)
def test_what_is_allowed_has_no_findings(tmp_path: Path, fields: dict[str, Any]) -> None:
    sweep = replace(load_sweep(written(tmp_path)), epochs=9, **fields)
    assert list(findings(sweep)) == []


def test_a_search_with_rungs_and_a_trial_of_one_epoch_cannot_end_early(tmp_path: Path) -> None:
    sweep = replace(load_sweep(written(tmp_path)), epochs=1, stopping=Asha())
    (found,) = findings(sweep)
    assert "no trial of epochs=1 can end early" in found[1]
    (found,) = findings(replace(sweep, epochs=9, search=Factored()))
    assert "does not go with search=Factored()" in found[1]


def test_a_target_is_of_the_accuracy_that_is_an_objective(tmp_path: Path) -> None:
    sweep = replace(load_sweep(written(tmp_path)), target=0.97)
    assert (sweep.aim.metric, sweep.aim.bound) == ("val_acc", 0.97)
