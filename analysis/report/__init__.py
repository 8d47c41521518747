"""The report: one page that holds everything, and opens without a network."""

from analysis.report.page import report_html
from analysis.report.view import View, view_of

__all__ = ["View", "report_html", "view_of"]
