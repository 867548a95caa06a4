"""The probe: this machine's ceilings and fixed costs, measured, as a `core.Device`."""

from .items import CostOf, Item, RateOf
from .loops import Native
from .probe import measure, probe
from .rounds import FULL, QUICK, Effort
from .working_sets import WorkingSet, working_sets

__all__ = ["FULL", "QUICK", "CostOf", "Effort", "Item", "Native", "RateOf", "WorkingSet", "measure", "probe", "working_sets"]
