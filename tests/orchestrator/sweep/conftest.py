"""A guard: modules that a sweep file imports are removed after the test."""

from tests.orchestrator.helpers.import_state import import_state

__all__ = ["import_state"]
