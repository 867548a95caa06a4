"""`Session`: the changes of one `tuned`, made all or none for each setting, shared with other processes, and put back in reverse order.

Whoever looks at the settings and sets them holds the lock of the journals' folder the whole time, so that what was seen is still so when it is set.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ridgeline.core import RidgelineError

from .changes import Change
from .journal import Journal, locked
from .reading import Reading
from .returning import key_of, put_back, set_by_others, words_of

__all__ = ["Session"]

_NO_HOME = "there is no home folder for a journal, so it could not be put back after a kill"


@dataclass
class Session:
    """What one process has set.

    Args:
        folder: of the journals; null where there is no home for one.
        root: `/`, or a tree like it.
        made: the changes so far, in order.
    """

    folder: Path | None
    root: Path
    made: list[Change] = field(default_factory=list)
    _journal: Journal | None = None

    def begin(self, look: Callable[[], Iterable[Reading]], wanted: Callable[[Reading], bool], join: bool) -> dict[str, tuple[Reading, str | None]]:
        """Look at the settings and make the changes of those that are wanted.

        Args:
            look: reads all settings.
            wanted: whether the changes of one are to be made.
            join: whether to keep what other processes have set as well.

        Returns:
            By name: the reading, and why its changes could not be made, null where they were or none was wanted.
        """
        with self._alone() as why_not:
            found = {reading.name: (reading, self._set(reading, why_not) if wanted(reading) else None) for reading in look()}
            if join and why_not is None:
                self._join()
        return found

    def end(self) -> list[str]:
        """Put everything back in reverse order; a line for each that could not be."""
        said = []
        for change in reversed([change for change in self.made if not change.lasting]):
            said += _told(change, *put_back(change))
        if self._journal is not None and self.folder is not None:
            said += self._put_back_lasting(self._journal, self.folder)
        self.made, self._journal = [], None
        return said

    @contextlib.contextmanager
    def _alone(self) -> Iterator[str | None]:
        """Hold the folder's lock; yields why nothing lasting may be set, null where it may."""
        with contextlib.ExitStack() as held:
            why_not = _NO_HOME if self.folder is None else None
            if self.folder is not None:
                try:
                    held.enter_context(locked(self.folder))
                except RidgelineError as error:
                    why_not = words_of(error)
            yield why_not

    def _set(self, reading: Reading, why_not: str | None) -> str | None:
        """Make the changes of a setting, all or none; why not, where it fails."""
        before = len(self.made)
        if why_not is not None and any(change.lasting for change in reading.changes):
            return why_not
        try:
            self._refuse_conflicts(reading.changes)
            for change in reading.changes:
                self._make(change)
        except (OSError, RidgelineError) as error:
            self._undo(before)
            return words_of(error)
        return None

    def _others(self) -> list[Change]:
        ours = None if self._journal is None else self._journal.path
        return [] if self.folder is None else set_by_others(self.folder, self.root, ours)

    def _refuse_conflicts(self, changes: tuple[Change, ...]) -> None:
        """Refuse to set what somebody has changed since it was looked at, or what another process needs otherwise."""
        lasting = [change for change in changes if change.lasting]
        needed = {key_of(change): change.wanted for change in self._others()} if lasting else {}
        for change in lasting:
            other = needed.get(key_of(change), change.wanted)
            if other != change.wanted:
                raise OSError(f"another run of ridgeline needs it at {other}")
            if change.now() not in (change.found, change.wanted):
                raise OSError(f"somebody has just set it to {change.now()}")

    def _make(self, change: Change) -> None:
        if change.lasting:
            self._announce(change)
        self.made.append(change)
        change.put(change.wanted)
        if change.now() != change.wanted:
            raise OSError(f"the system takes {change.wanted} and stays at {change.now()}")

    def _announce(self, change: Change) -> None:
        assert self.folder is not None  # otherwise nothing lasting is set
        if self._journal is None:
            self._journal = Journal(self.folder, self.root)
        self._journal.announce(change)

    def _join(self) -> None:
        """Keep what others have set as long as we measure, even if they end before us: the last one puts back what the first one found."""
        ours = {key_of(change) for change in self.made}
        with contextlib.suppress(RidgelineError):  # what cannot be joined is as it would be without us
            for change in self._others():
                if change.lasting == "file" and key_of(change) not in ours and change.now() == change.wanted:
                    self._announce(change)
                    self.made.append(change)
                    ours.add(key_of(change))

    def _undo(self, before: int) -> None:
        """Take back what a setting that failed half-way has changed; what does not go back stays among the changes, and is tried again at the end."""
        undone, self.made = self.made[before:], self.made[:before]
        for change in reversed(undone):
            if put_back(change)[0] == "failed":
                self.made.append(change)
            elif self._journal is not None and change.lasting:
                self._journal.put_back(change)

    def _put_back_lasting(self, journal: Journal, folder: Path) -> list[str]:
        said, failed = [], False
        try:
            with locked(folder):
                others = {key_of(change) for change in self._others()}
                for change in reversed([change for change in self.made if change.lasting]):
                    outcome, reason = ("not ours", "") if key_of(change) in others else put_back(change)
                    said += _told(change, outcome, reason)
                    failed = failed or outcome == "failed"
                    if outcome != "failed":
                        journal.put_back(change)
                journal.close(keep=failed)
        except RidgelineError as error:
            journal.close(keep=True)
            said.append(f"settings are not put back yet: {error}; the next start of ridgeline does it")
        return said


def _told(change: Change, outcome: str, reason: str) -> list[str]:
    if outcome == "failed":
        again = "; the next start of ridgeline tries again" if change.lasting else ""
        return [f"{change.key} could not be put back from {change.wanted} to {change.found}: {reason}{again}"]
    return [f"{change.key} is left as it is: {reason}"] if reason else []
