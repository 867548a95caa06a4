"""Trying: the changes that a diagnosis proposes, and a few that it does not, beside the original."""

from .candidates import Candidate, candidates
from .record import experiment_of
from .trial import run_trial
from .trying import DEFAULT_BUDGET_S, Trying, try_changes

__all__ = ["DEFAULT_BUDGET_S", "Candidate", "Trying", "candidates", "experiment_of", "run_trial", "try_changes"]
