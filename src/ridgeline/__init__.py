"""ridgeline finds the real bottleneck of a program or a model, names the fix, and says beforehand what the fix is worth.

The verbs are functions (`ridgeline.diagnose`, `ridgeline.probe`, `ridgeline.doctor`), the nouns are types. Each name is imported when it is
first asked for, so that `import ridgeline` costs next to nothing and loads no optional package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .core import Device as Device
    from .core import Diagnosis as Diagnosis
    from .core import Facts as Facts
    from .core import Quantity as Quantity
    from .core import RidgelineError as RidgelineError
    from .core import Run as Run
    from .flows.diagnose import diagnose as diagnose
    from .flows.doctor import doctor as doctor
    from .flows.probe import probe as probe

#: Where each public name lives.
_HOMES = {
    "diagnose": "ridgeline.flows.diagnose",
    "doctor": "ridgeline.flows.doctor",
    "probe": "ridgeline.flows.probe",
    "Device": "ridgeline.core",
    "Diagnosis": "ridgeline.core",
    "Facts": "ridgeline.core",
    "Quantity": "ridgeline.core",
    "RidgelineError": "ridgeline.core",
    "Run": "ridgeline.core",
}

__all__ = ["Device", "Diagnosis", "Facts", "Quantity", "RidgelineError", "Run", "__version__", "diagnose", "doctor", "probe"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        found: Any = version("ridgeline")
    elif name in _HOMES:
        found = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'ridgeline' has no attribute {name!r}")
    globals()[name] = found  # asked for once, then at hand
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
