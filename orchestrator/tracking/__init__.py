"""The trackers: folds of a sweep's events that its user sees, each with a ``close``."""
