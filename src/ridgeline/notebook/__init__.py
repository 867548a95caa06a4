"""The notebook: every run that was ever made, in one SQLite file or a PostgreSQL database."""

from .identity import new_run_id
from .location import default_location, exists
from .notebook import Notebook
from .summary import RunSummary

__all__ = ["Notebook", "RunSummary", "default_location", "exists", "new_run_id"]
