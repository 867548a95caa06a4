"""`RunFilter`: which runs are meant, as a person says it, and the WHERE clause that says the same."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any

import msgspec

from ridgeline.core import UsageError

from .statements import containing, escaped

__all__ = ["RunFilter", "moment"]

_AGO = re.compile(r"([0-9]{1,6}) ?(min|h|d|w)", re.ASCII)
_UNITS = {"min": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_DIRTY = "+dirty"


class RunFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs are meant; what is null does not restrict.

    Args:
        verb: the flow that wrote it.
        target: a text that its target contains, in any case.
        commit: the beginning of its commit, of a changed tree too; with `+dirty` behind it of a changed tree only.
        machine: a text that the name of its CPU contains, in any case, or the beginning of the machine's fingerprint.
        since, until: ISO 8601 date or time (UTC if it names no zone), or an age such as `90min`, `12h`, `7d`, `2w`; a whole day belongs to `until`.
        threads: that the target was given; 0 where it decides itself.
    """

    verb: str | None = None
    target: str | None = None
    commit: str | None = None
    machine: str | None = None
    since: str | None = None
    until: str | None = None
    threads: int | None = None

    def where(self) -> tuple[str, dict[str, Any]]:
        """The WHERE clause with a space behind it, empty where nothing restricts, and the values it binds.

        Raises:
            UsageError: a time that cannot be read.
        """
        conditions: list[str] = []
        values: dict[str, Any] = {}
        for name, (condition, value) in _CONDITIONS.items():
            given = getattr(self, name)
            if given is not None:
                conditions.append(condition)
                values |= value(given)
        return (f"WHERE {' AND '.join(conditions)} " if conditions else ""), values


def moment(text: str, *, end: bool = False, now: datetime.datetime | None = None) -> str:
    """A time as a person gives it, in the form in which the notebook keeps times.

    Args:
        text: ISO 8601 date or time, or an age such as `7d`.
        end: whether a whole day means its end.
        now: from which an age counts; the present if not given.

    Raises:
        UsageError: neither, or beyond the calendar.

    >>> moment("2026-01-02T04:00+01:00")
    '2026-01-02T03:00:00+00:00'
    """
    wanted = text.strip()
    try:
        if age := _AGO.fullmatch(wanted):
            found = (now or datetime.datetime.now(datetime.UTC)) - datetime.timedelta(**{_UNITS[age[2]]: int(age[1])})
        else:
            found = datetime.datetime.fromisoformat(wanted)
        found = found.replace(tzinfo=datetime.UTC) if found.tzinfo is None else found.astimezone(datetime.UTC)
        if end and _DAY.fullmatch(wanted):
            found += datetime.timedelta(days=1, seconds=-1)
    except (ValueError, OverflowError) as error:
        remedy = "write 2026-01-31, 2026-01-31T12:00 or an age such as 7d, 12h, 90min, 2w"
        raise UsageError("a date, a time or an age", found=repr(text), remedy=remedy) from error
    return found.isoformat(timespec="seconds")


def _commit_pattern(commit: str) -> str:
    wanted = commit.strip().lower()
    if wanted.endswith(_DIRTY):
        return f"{escaped(wanted.removesuffix(_DIRTY))}%{_DIRTY}"
    return f"{escaped(wanted)}%"


# The case of the text is left to the database only where it is ASCII, which both kinds of database fold alike.
_CONDITIONS: dict[str, tuple[str, Callable[[Any], dict[str, Any]]]] = {
    "verb": ("verb = :verb", lambda verb: {"verb": verb}),
    "target": ("lower(target) LIKE lower(:target) ESCAPE '!'", lambda target: {"target": containing(target)}),
    "commit": ("commit_id LIKE :commit ESCAPE '!'", lambda commit: {"commit": _commit_pattern(commit)}),
    "machine": (
        "(machine LIKE :fingerprint ESCAPE '!' OR lower(machine_name) LIKE lower(:machine) ESCAPE '!')",
        lambda machine: {"machine": containing(machine), "fingerprint": f"{escaped(machine.strip().lower())}%"},
    ),
    "since": ("at >= :since", lambda since: {"since": moment(since)}),
    "until": ("at <= :until", lambda until: {"until": moment(until, end=True)}),
    "threads": ("threads = :threads", lambda threads: {"threads": threads}),
}
