"""Running trials: each in a fresh process, on cores of its own, under a supervisor."""
