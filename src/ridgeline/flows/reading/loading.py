"""Files of one run to one profile: each read by the reader that knows it, pieces and ranks put on one clock.

Which files go together is decided here: those with a timeline are merged by `timeline.merging`; those without are put side by side where one reader
read them all; anything else is refused, since figures of unlike things have no sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from ridgeline.core import Excluded, Profile, UsageError
from ridgeline.readers.reading import read_profile
from ridgeline.readers.source import Limits

__all__ = ["Loaded", "load"]

Report = Callable[[str, float | None], None]


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A profile of one or several files, and how far each clock was from the first."""

    profile: Profile
    skew_s: dict[str, float] = field(default_factory=dict)


def load(paths: Sequence[str | Path], *, format: str = "", limits: Limits | None = None, report: Report | None = None) -> Loaded:
    """Read files of one run.

    Args:
        paths: at least one, each once.
        format, limits: as `readers.read_profile`.
        report: told what is read, and the fraction of all bytes that is done.

    Raises:
        UsageError: no file, one twice, or files that do not go together.
        ReadError: as `readers.read_profile`.
    """
    if not paths:
        raise UsageError("a file to read", found="none", remedy="name one or several of one run")
    names = [str(Path(path).resolve()) for path in paths]
    if len(set(names)) < len(names):
        twice = next(str(path) for path, name in zip(paths, names, strict=True) if names.count(name) > 1)
        raise UsageError("each file once", found=f"{twice} twice", remedy="leave one out")
    sizes = [_size(path) for path in paths]
    profiles = []
    for index, path in enumerate(paths):
        if report is not None:
            report(f"reading {path}", sum(sizes[:index]) / max(1, sum(sizes)))
        profiles.append(read_profile(path, format=format, limits=limits))
    return Loaded(profile=profiles[0]) if len(profiles) == 1 else _together(profiles)


def _size(path: str | Path) -> int:
    try:
        return Path(path).stat().st_size
    except (OSError, ValueError):
        return 0  # the reader says what is wrong with it


def _together(profiles: Sequence[Profile]) -> Loaded:
    with_times = [profile.timeline is not None for profile in profiles]
    if all(with_times):
        from ridgeline.timeline.merging import merged

        profile, skew_s = merged(profiles)
        return Loaded(profile=profile, skew_s=skew_s)
    formats = {profile.format for profile in profiles}
    if any(with_times) or len(formats) > 1:
        found = ", ".join(f"{profile.files[0]} ({profile.format})" for profile in profiles[:4])
        raise UsageError("files of one run in one format", found=found, remedy="read them one by one")
    if sum(profile.kernels is not None for profile in profiles) > 1 or sum(profile.partitions is not None for profile in profiles) > 1:
        found = f"{len(profiles)} files of {profiles[0].format}"
        raise UsageError("one file of kernel counters or partitions", found=found, remedy="read them one by one, or hold them against each other")
    return Loaded(profile=_beside(profiles))


def _beside(profiles: Sequence[Profile]) -> Profile:
    """Tables, stacks and counters of several files of one format, one after the other."""
    first = profiles[0]
    excluded: dict[str, Excluded] = {}
    for part in (part for profile in profiles for part in profile.excluded):
        before = excluded.get(part.reason)
        excluded[part.reason] = (
            part if before is None else msgspec.structs.replace(before, events=before.events + part.events, total_s=before.total_s + part.total_s)
        )
    return msgspec.structs.replace(
        first,
        files=tuple(name for profile in profiles for name in profile.files),
        tables=tuple(table for profile in profiles for table in profile.tables),
        stacks=tuple(stacks for profile in profiles for stacks in profile.stacks),
        counters=next((profile.counters for profile in profiles if profile.counters is not None), None),
        kernels=next((profile.kernels for profile in profiles if profile.kernels is not None), None),
        partitions=next((profile.partitions for profile in profiles if profile.partitions is not None), None),
        facts={name: text for profile in reversed(profiles) for name, text in profile.facts.items()},
        excluded=tuple(excluded.values()),
        warnings=tuple(dict.fromkeys(warning for profile in profiles for warning in profile.warnings)),
    )
