"""`export`: a profile and its report in one of the formats of other tools; what a format cannot hold is refused in one line."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from ridgeline.core import Profile, ReadReport, Stacks, UsageError
from ridgeline.machine import written_whole

__all__ = ["beside", "export"]


def export(profile: Profile, report: ReadReport, to: str, path: Path) -> None:
    """Write a file.

    Args:
        profile: what was read.
        report: its answers, which `chrome` shows as lanes of their own.
        to: `chrome`, `speedscope`, `collapsed` or `parquet`.
        path: where to; it takes the place of what is there.

    Raises:
        UsageError: the profile has not what the format holds, or the file cannot be written.
        BackendUnavailable: pyarrow is missing, for `parquet`.
    """
    if to == "parquet":
        _parquet(profile, report, path)
        return
    with written_whole(path) as file:
        _written(profile, report, to, file)


def beside(path: Path, to: str) -> Path | None:
    """The second file that a format has, with the operators; null where there is none."""
    return path.with_name(f"{path.stem}-operators.parquet") if to == "parquet" else None


def _written(profile: Profile, report: ReadReport, to: str, file: BinaryIO) -> None:
    from .chrome import write_chrome
    from .collapsed import collapsed
    from .speedscope import speedscope, speedscope_of_timeline

    title = ", ".join(profile.files)
    if to == "chrome":
        if profile.timeline is None:
            raise _lacks(profile, "times", to)
        write_chrome(profile.timeline, file, report)
    elif to == "speedscope":
        # Stacks are what it is for; events that nest are shown as they followed each other.
        whole = profile.timeline is not None and not profile.stacks
        file.write(
            speedscope_of_timeline(profile.timeline, name=title) if whole and profile.timeline else speedscope(_stacks(profile, to), name=title)
        )
    else:
        file.write(collapsed(_one_tree(profile, to)))


def _stacks(profile: Profile, to: str) -> tuple[Stacks, ...]:
    if not profile.stacks:
        raise _lacks(profile, "times or stacks", to)
    return profile.stacks


def _one_tree(profile: Profile, to: str) -> Stacks:
    """All stacks of the measure that stands first, or the nesting of the events."""
    from ridgeline.timeline.call_tree import call_tree
    from ridgeline.timeline.frames import joined

    if profile.timeline is not None and not profile.stacks:
        return call_tree(profile.timeline)
    stacks = _stacks(profile, to)
    return joined([one for one in stacks if (one.measure, one.unit) == (stacks[0].measure, stacks[0].unit)])


def _lacks(profile: Profile, what: str, to: str) -> UsageError:
    return UsageError(
        f"a file with {what}, for --to {to}", found=f"{profile.files[0]} ({profile.format}), which has none", remedy="write another format"
    )


def _parquet(profile: Profile, report: ReadReport, path: Path) -> None:
    """Events, and operators in a file beside; a profile without times has the rows of its tables."""
    from .parquet import write_events, write_operators, write_rows

    if profile.timeline is not None:
        with written_whole(path) as file:
            write_events(profile.timeline, file)
        operators = beside(path, "parquet")
        if operators is not None:
            with written_whole(operators) as file:
                write_operators(report.operators, file)
    elif profile.tables:
        with written_whole(path) as file:
            write_rows(profile.tables, file)
    else:
        raise _lacks(profile, "times or tables", "parquet")
