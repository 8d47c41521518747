"""A guard: what a sweep file imports is forgotten after the test."""

from tests.orchestrator.helpers.import_state import import_state

__all__ = ["import_state"]
