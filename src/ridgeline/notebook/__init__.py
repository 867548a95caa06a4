"""The notebook: every run that was ever made, in one SQLite file or a PostgreSQL database."""

from .entries import Entry, Outcome, Unreadable
from .filters import RunFilter
from .identity import new_run_id
from .location import default_location, exists
from .notebook import Notebook
from .summary import ComparisonSummary, RunSummary

__all__ = [
    "ComparisonSummary", "Entry", "Notebook", "Outcome", "RunFilter", "RunSummary", "Unreadable", "default_location", "exists", "new_run_id",
]  # fmt: skip
