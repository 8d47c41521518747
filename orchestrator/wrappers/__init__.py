"""Code that was not written for a sweep, as trainables.

command: the words of a command, with the values of a config in them
from_function: a function of keywords
from_script: a command in any language
output: figures in the lines that a command prints
"""

from orchestrator.wrappers.from_function import from_function
from orchestrator.wrappers.from_script import from_script

__all__ = ["from_function", "from_script"]
