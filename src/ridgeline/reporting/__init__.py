"""Nouns in, text out: the page of a diagnosis and of everything else, as terminal text, Markdown or one HTML file. Nothing here prints."""

from .bench_page import bench_page
from .comparison_page import comparison_page
from .device_page import device_page, devices_page
from .diagnosis_page import page
from .gate_page import gate_comment, gate_page
from .history_page import history_page
from .html import MADE_BY, html
from .junit import junit_xml
from .log import comparison_table, log_table
from .markdown import markdown
from .page import Bars, Cell, Column, Item, Items, Page, Pair, Pairs, Paragraph, Section, Table, format_cell
from .pages import calc_list_page, calc_page, doctor_page, probe_page, run_page
from .promises import promises_page
from .report import html_report, inline, run_report, tuned_report_html, validation_report_html
from .run_diff import diff_page
from .run_recipe import recipe_script, with_recipe
from .terminal import terminal
from .tuned_page import tuned_page
from .validation_page import validation_page

__all__ = [
    "MADE_BY", "Bars", "Cell", "Column", "Item", "Items", "Page", "Pair", "Pairs", "Paragraph", "Section", "Table", "bench_page", "calc_list_page",
    "calc_page", "comparison_page", "comparison_table", "device_page", "devices_page", "diff_page", "doctor_page", "format_cell", "gate_comment",
    "gate_page", "history_page", "html", "html_report", "inline", "junit_xml", "log_table",
    "markdown", "page", "probe_page", "promises_page", "recipe_script", "run_page", "run_report", "terminal", "tuned_page",
    "tuned_report_html", "validation_page",
    "validation_report_html", "with_recipe",
]  # fmt: skip
