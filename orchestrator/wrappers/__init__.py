"""Code that was not written for a sweep, as trainables.

command: the words of a command, and the figures in the lines that it prints
from_function: a function of keywords
from_optuna: an Optuna objective
from_script: a command in any language
optuna_trial: one trial of an objective; imports Optuna
"""

from orchestrator.wrappers.from_function import from_function
from orchestrator.wrappers.from_optuna import from_optuna
from orchestrator.wrappers.from_script import from_script

__all__ = ["from_function", "from_optuna", "from_script"]
