"""One file a question; each has a module-level ``SWEEP``."""
