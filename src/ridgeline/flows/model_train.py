"""`model train`: from tables of measured latencies to a model file; what was finished is kept beside it until the whole is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ridgeline.core import UsageError
from ridgeline.core.documents import encode
from ridgeline.machine import write_atomic
from ridgeline.model.operators.model import OperatorModel
from ridgeline.model.operators.preparing import prepared
from ridgeline.model.operators.training import Settings, Training, train_prepared

from .modelling.devices import devices_of
from .modelling.documents import read_document
from .modelling.tables import load_tables

__all__ = ["state_file", "train"]

Report = Callable[[str, float | None], None]


def train(
    tables: str | Path | Sequence[str | Path], *, device_files: Sequence[str | Path] = (), out: str | Path | None = None, seed: int = 0,
    resume: bool = False, level: float = 0.9, report: Report | None = None,
) -> OperatorModel:  # fmt: skip
    """Train correctors of operators from measured latencies.

    Args:
        tables: documents that `model collect` wrote, or recordings that a reader of latencies knows.
        device_files: documents of devices that the catalogue does not have.
        out: the file that the model is written to; none if not given. What is finished is kept in `state_file(out)` until the whole is.
        seed: of splits and of whatever is drawn; the same rows and seed give the same file.
        resume: whether to go on from what an interrupted training left there.
        level: share that intervals are to cover, in (0, 1).
        report: told what is going on and the fraction done.

    Raises:
        UsageError: nothing to learn from, most rows are faulty, or a state of other rows or settings. ReadError: a file that cannot be read.
    """
    if resume and out is None:
        raise UsageError("a file to resume", found="none", remedy="name the file that the training was to write")
    state = None if out is None else state_file(out)
    begun = read_document(state, Training) if resume and state is not None and state.exists() else None
    table = load_tables([tables] if isinstance(tables, str | Path) else tables, report=report)
    rows = prepared(table, devices_of(table, device_files), report=report)
    settings = Settings(seed=seed, level=level)
    model = train_prepared(rows, settings, begun=begun, keep=None if state is None else _kept(state), report=report)
    if out is not None and state is not None:
        write_atomic(out, encode(model))
        state.unlink(missing_ok=True)
    return model


def state_file(out: str | Path) -> Path:
    """Where a training keeps what it has finished."""
    return Path(f"{out}.training")


def _kept(state: Path) -> Callable[[Training], None]:
    return lambda training: write_atomic(state, encode(training))
