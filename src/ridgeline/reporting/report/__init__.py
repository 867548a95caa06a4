"""The report: one offline HTML file that shows a diagnosis with charts, and small fragments for notebooks. Nothing here prints or reads a file."""

from .document import MOST_BYTES, html_report, run_report
from .inline import inline
from .tuned import tuned_report_html
from .validated import validation_chart, validation_report_html

__all__ = ["MOST_BYTES", "html_report", "inline", "run_report", "tuned_report_html", "validation_chart", "validation_report_html"]
