"""Code that was not written for a sweep, as trainables.

command: the words of a command, with the values of a config in them
from_function: a function of keywords
from_optuna: an Optuna objective
from_script: a command in any language
optuna_trial: one trial of an objective; imports Optuna
output: figures in the lines that a command prints
"""

from orchestrator.wrappers.from_function import from_function
from orchestrator.wrappers.from_optuna import from_optuna
from orchestrator.wrappers.from_script import from_script

__all__ = ["from_function", "from_optuna", "from_script"]
