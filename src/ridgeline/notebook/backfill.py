"""What a migration fills in from the documents that are there already: the columns that an earlier version did not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from .statements import execute
from .summary import utc

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["BACKFILLS"]

# Documents held in memory at once.
_BATCH = 50


class _Target(msgspec.Struct):
    threads: int = 0


class _Machine(msgspec.Struct):
    cpu_model: str = ""


class _Facts(msgspec.Struct):
    target: _Target
    machine: _Machine


class _Truth(msgspec.Struct):
    p99_s: float | None = None
    batched_s: float | None = None
    processes: int | None = None
    samples: int | None = None


class _Diagnosis(msgspec.Struct):
    ground_truth: _Truth | None = None


class _Run(msgspec.Struct):
    """The few fields that are needed of a run of the versions before migration 4, none of which held a benchmark."""

    at: str
    facts: _Facts
    diagnosis: _Diagnosis | None = None


def _fill_filters(connection: Connection) -> None:
    """Fill the columns of migration 4; a document that cannot be read keeps its row as it is."""
    ids = [str(row[0]) for row in execute(connection, "SELECT id FROM ridgeline_runs ORDER BY id", {})]
    decoder = msgspec.json.Decoder(_Run)
    for start in range(0, len(ids), _BATCH):
        wanted = {f"i{index}": identity for index, identity in enumerate(ids[start : start + _BATCH])}
        names = ", ".join(f":{name}" for name in wanted)
        for identity, document in execute(connection, f"SELECT id, document FROM ridgeline_runs WHERE id IN ({names})", wanted):
            try:
                run = decoder.decode(str(document))
            except (msgspec.MsgspecError, UnicodeError, RecursionError):
                continue
            _fill(connection, str(identity), run)


def _fill(connection: Connection, identity: str, run: _Run) -> None:
    truth = (run.diagnosis.ground_truth if run.diagnosis else None) or _Truth()
    values = {
        "machine_name": run.facts.machine.cpu_model, "threads": run.facts.target.threads, "at": utc(run.at), **msgspec.structs.asdict(truth),
    }  # fmt: skip
    changes = ", ".join(f"{name} = :{name}" for name in values)
    execute(connection, f"UPDATE ridgeline_runs SET {changes} WHERE id = :id", {**values, "id": identity})


#: Number of a migration → what is done behind its statements, in the same transaction.
BACKFILLS: dict[int, Callable[[Connection], None]] = {4: _fill_filters}
