"""The version of this program: of its distribution, of ``--version`` and of ``sweep.json``."""

__version__ = "0.1.0"
