"""ridgeline finds the real bottleneck of a program or a model, names the fix, and says beforehand what the fix is worth.

The verbs are functions (`ridgeline.diagnose`, `ridgeline.probe`, `ridgeline.doctor`), the nouns are types. Each name is imported when it is
first asked for, so that `import ridgeline` costs next to nothing and loads no optional package. Their types stand in `__init__.pyi`: an import
here, even one for type checkers only, would lead every room that imports `ridgeline._native` up to the flows.
"""

from __future__ import annotations

from importlib import import_module

#: Where each public name lives.
_HOMES = {
    "bench": "ridgeline.flows.bench",
    "compare": "ridgeline.flows.compare",
    "diagnose": "ridgeline.flows.diagnose",
    "doctor": "ridgeline.flows.doctor",
    "gate": "ridgeline.flows.gate",
    "history": "ridgeline.flows.history",
    "predict": "ridgeline.flows.predict",
    "probe": "ridgeline.flows.probe",
    "read": "ridgeline.flows.read",
    "select": "ridgeline.flows.select",
    "stage": "ridgeline.measurement.stages.stage",
    "tune": "ridgeline.flows.tune",
    "BenchReport": "ridgeline.core",
    "Comparison": "ridgeline.core",
    "ComparisonSet": "ridgeline.core",
    "Device": "ridgeline.core",
    "Diagnosis": "ridgeline.core",
    "Facts": "ridgeline.core",
    "GateReport": "ridgeline.core",
    "HistoryReport": "ridgeline.core",
    "PredictionReport": "ridgeline.core",
    "Quantity": "ridgeline.core",
    "ReadReport": "ridgeline.core",
    "RidgelineError": "ridgeline.core",
    "Run": "ridgeline.core",
    "TuneReport": "ridgeline.core",
}

__all__ = [
    "BenchReport", "Comparison", "ComparisonSet", "Device", "Diagnosis", "Facts", "GateReport", "HistoryReport", "PredictionReport", "Quantity",
    "ReadReport", "RidgelineError", "Run", "TuneReport", "__version__", "bench", "compare", "diagnose", "doctor", "gate", "history", "predict",
    "probe", "read", "select", "stage", "tune",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        found: object = version("ridgeline")
    elif name in _HOMES:
        found = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'ridgeline' has no attribute {name!r}")
    globals()[name] = found  # asked for once, then at hand
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
