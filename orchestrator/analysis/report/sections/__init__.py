"""The sections of the page; :mod:`orchestrator.analysis.report.page` has their order."""
