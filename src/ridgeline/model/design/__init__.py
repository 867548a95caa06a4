"""Which operators to measure, so that few rows say most about a machine: shapes as models have them, spread evenly, more where a model errs.

`forms` are the types of operators with the ranges of their sizes; `drawing` chooses among them.
"""

from .drawing import first, where_unsure
from .forms import FORMS, Form, form_of

__all__ = ["FORMS", "Form", "first", "form_of", "where_unsure"]
