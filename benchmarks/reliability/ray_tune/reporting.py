"""Functions by what they report."""

# ruff: noqa: D103 - their names say it

from __future__ import annotations

import threading
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

import numpy as np
import torch
from ray import train, tune
from ray.tune import report

from benchmarks.reliability.ray_tune.cases import Config, case

# -- reports


@case
def reports_once(config: Config) -> None:
    tune.report({"score": 2.0 * config["w"]})


@case
def reports_thrice(config: Config) -> None:
    for step in range(3):
        tune.report({"score": config["w"] + step, "loss": 1.0 / (step + 1)})


@case
def reports_by_another_name(config: Config) -> None:
    report({"score": config["w"]})


@case
def reports_nested_figures(config: Config) -> None:
    tune.report({"score": 1.0, "val": {"top1": 0.5, "by": {"a": 1, "b": {"c": 2.5}}}})


@case
def reports_numpy(config: Config) -> None:
    tune.report({"score": np.float32(1.5), "n": np.int64(3), "b": np.bool_(True)})


@case
def reports_an_array_of_one_number(config: Config) -> None:
    tune.report({"score": 1.0, "zero_dimensional": np.array(2.5)})


@case
def reports_switches(config: Config) -> None:
    tune.report({"score": True, "on": False})


@case
def reports_fractions(config: Config) -> None:
    tune.report({"score": Fraction(1, 4), "whole": 10**15})


@case
def reports_text_and_lists_beside(config: Config) -> None:
    tune.report({"score": 1.0, "text": "abc", "list": [1, 2], "none": None, "array": np.ones(3)})


@case
def reports_names_of_all_kinds(config: Config) -> None:
    tune.report({"score": 1.0, "self": 2.0, "a b": 3.0, "p(1)": 4.0, "größe": 5.0})


@case
def reports_names_that_we_measure(config: Config) -> None:
    tune.report({"score": 1.0, "steps": 70, "epochs": 9, "samples_per_s": 12.5, "train_s": 3.5})


@case
def reports_nothing_and_then_a_figure(config: Config) -> None:
    tune.report({})
    tune.report({"score": 4.0})


@case
def reports_changing_figures(config: Config) -> None:
    tune.report({"score": 1.0, "first": 1.0})
    tune.report({"score": 2.0, "second": 2.0})


@case
def reports_negative_and_large(config: Config) -> None:
    tune.report({"score": -1e300, "tiny": 1e-300, "zero": 0})


@case
def reports_from_a_thread(config: Config) -> None:
    thread = threading.Thread(target=lambda: tune.report({"score": 3.0}))
    thread.start()
    thread.join()


@case
def reports_two_hundred_times(config: Config) -> None:
    for step in range(200):
        tune.report({"score": float(step)})


@case
def reports_a_tensor(config: Config) -> None:
    tune.report({"score": torch.tensor(0.5)})


@case
def reports_a_list_with_a_tensor(config: Config) -> None:
    tune.report({"score": 1.0, "list": [torch.zeros(2)]})


@case
def reports_a_nested_tensor(config: Config) -> None:
    tune.report({"score": 1.0, "inner": {"value": torch.zeros(1)}})


@case
def reports_to_ray_train(config: Config) -> None:
    tune.report({"score": 1.0})
    train.report({"score": 2.0})


@case
def reports_by_keywords_of_old(config: Config) -> None:
    tune.report(score=1.0)


@case
def reports_no_dictionary(config: Config) -> None:
    tune.report(1.0)


@case
def reports_by_whole_numbers(config: Config) -> None:
    tune.report({"score": 1.0, 1: 2.0, None: 4.0})


@case
def reports_odd_names(config: Config) -> None:
    tune.report({"score": 1.0, "": 2.0, "a\nb": 3.0, "/a": 4.0, "x" * 300: 5.0, "a/b/": 6.0})


@case
def reports_names_that_coincide(config: Config) -> None:
    tune.report({"score": 1.0, "a/b": 2.0, "a": {"b": 3.0}, "A": 4.0})


@case
def reports_numbers_of_all_kinds(config: Config) -> None:
    tune.report({
        "score": Decimal("0.25"), "half": np.float16(0.5), "byte": np.uint8(200),
        "long": np.longdouble(2), "complex": 1j, "one": np.ones(1), "when": np.datetime64("2020"),
    })  # fmt: skip


@case
def reports_a_number_beyond_all_floats(config: Config) -> None:
    tune.report({"score": 1.0, "huge": 10**400})


@case
def reports_what_torch_has_beside_tensors(config: Config) -> None:
    tune.report({"score": 1.0, "shape": torch.Size([2]), "kind": torch.float32})


@case
def reports_a_module(config: Config) -> None:
    tune.report({"score": 1.0, "model": torch.nn.Linear(1, 1)})


@case
def reports_a_tensor_deep_in_lists(config: Config) -> None:
    tune.report({"score": 1.0, "deep": [{"a": (1, [torch.zeros(1)])}]})


@case
def reports_a_default_dictionary(config: Config) -> None:
    found: defaultdict[str, float] = defaultdict(float)
    found["score"] += 2.0
    tune.report(found)


@case
def reports_empty_parts(config: Config) -> None:
    tune.report({"score": 1.0, "empty": {}, "list": [], "inner": {"empty": {}}})


@case
def reports_a_proxy_beside(config: Config) -> None:
    tune.report({"score": 1.0, "inner": MappingProxyType({"a": 1.0})})


@case
def reports_the_same_dictionary_again(config: Config) -> None:
    found: dict[str, float] = {}
    for step in range(3):
        found["score"] = float(step)
        tune.report(found)
    found["score"] = 99.0


@case
def reports_its_config(config: Config) -> None:
    tune.report({"score": 1.0, "config": config, "inner": dict(config)})


@case
def reports_its_own_count(config: Config) -> None:
    for step in range(3):
        tune.report({"score": float(step), "training_iteration": 10 * step, "timesteps_total": 7})


@case
def reports_that_it_is_not_done(config: Config) -> None:
    for done in (False, np.bool_(False), None, 0, ""):
        tune.report({"score": 1.0, "done": done})


@case
def reports_that_it_is_done_in_other_words(config: Config) -> None:
    for done in (0, np.bool_(True), False):
        tune.report({"score": 1.0, "done": done})


@case
def reports_that_a_part_is_done(config: Config) -> None:
    for step in range(3):
        tune.report({"score": float(step), "inner": {"done": True}})


@case
def reports_that_it_should_be_saved(config: Config) -> None:
    tune.report({"score": 1.0, "should_checkpoint": True})
    tune.report({"score": 2.0})


@case
def reports_by_the_session_of_old(config: Config) -> None:
    from ray.air import session

    session.report({"score": 1.0})


@case
def reports_a_checkpoint_of_another_name(config: Config) -> None:
    from ray.train import Checkpoint

    tune.report({"score": 1.0}, checkpoint=Checkpoint.from_directory("."))


@case
def reports_within_its_own_handlers(config: Config) -> None:
    for step in range(3):
        try:
            tune.report({"score": float(step), "text": object()})
        except Exception:  # noqa: BLE001 - as users do
            tune.report({"score": -1.0})


# -- the rest


@case
def changes_its_config(config: Config) -> None:
    config["w"] += 1
    tune.report({"score": config["w"]})


@case
def prints_a_lot(config: Config) -> None:
    print("x" * 1_000_000)
    tune.report({"score": 1.0})


@case
def reports_nothing(config: Config) -> None:
    pass


@case
def reports_text_alone(config: Config) -> None:
    tune.report({"text": "abc"})


@case
def reports_an_infinite_figure(config: Config) -> None:
    tune.report({"score": float("inf")})


@case
def reports_nan(config: Config) -> None:
    tune.report({"score": float("nan")})


@case
def reports_a_loss_of_nan(config: Config) -> None:
    tune.report({"score": 1.0, "loss": float("nan")})


@case
def reports_an_accuracy_in_percent(config: Config) -> None:
    tune.report({"score": 1.0, "val_acc": 93.4})
