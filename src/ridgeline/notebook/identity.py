"""Names of runs: unique without asking anyone, and in the order of time when sorted as text."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

__all__ = ["new_run_id"]


def new_run_id(at: datetime | None = None) -> str:
    """A run id `YYYYMMDDTHHMMSS-xxxxxxxx` in UTC: five hexadecimal digits of microseconds, so that it sorts by time, and three at random.

    Args:
        at: moment with a zone; now if not given.

    >>> new_run_id(datetime(2026, 1, 2, 3, 4, 5, 15, tzinfo=UTC))[:21]
    '20260102T030405-0000f'
    """
    moment = (at or datetime.now(UTC)).astimezone(UTC)
    return f"{moment:%Y%m%dT%H%M%S}-{moment.microsecond:05x}{secrets.randbelow(16**3):03x}"
