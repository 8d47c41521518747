"""The sections of the page; :mod:`orchestrator.analysis.report.write` has their order."""
