"""Configuration spaces: parameters with constraints, counted and drawn from without being listed.

`Configurations` is what a search uses. `parameters` makes the nouns of core and reads their values, `expressions` reads constraints and works them
out, `points` works out one at one point, `states` joins both to layers of states whose paths are the valid configurations.
"""

from .configurations import Configurations, Near
from .parameters import INACTIVE, categorical, integer, permutation, power_of_two, real
from .points import names_in, substituted, worked_out

__all__ = [
    "INACTIVE",
    "Configurations",
    "Near",
    "categorical",
    "integer",
    "names_in",
    "permutation",
    "power_of_two",
    "real",
    "substituted",
    "worked_out",
]
