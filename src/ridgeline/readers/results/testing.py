"""For authors of readers of result files: a conformance test class.

Subclass `ResultReaderConformance` in a test module, give `reader` and `examples`; a test runner such as pytest finds the rest. The examples should be
small files as the tool writes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ridgeline.core import ReadError, SeriesSet
from ridgeline.core.documents import decode, encode

from ..testing import written
from .content import Content
from .reading import ResultReader

__all__ = ["ResultReaderConformance"]

#: What no reader may take for its own.
_FOREIGN = (
    b"{}",
    b"[]",
    b"[[]]",
    b"null",
    b'{"benchmarks": 1, "results": 1, "metrics": 1}',
    b'{"benchmarks": {}, "results": {}, "metrics": []}',
    b"a,b\n1,2\n",
    b"text\n",
    b'{"traceEvents": []}',
)
#: At how many places an example is cut off.
_CUTS = 40


class ResultReaderConformance:
    """What every reader of result files must keep; override `reader` and `examples`."""

    def reader(self) -> ResultReader:
        """The reader under test."""
        raise NotImplementedError

    def examples(self) -> Mapping[str, bytes]:
        """Files as the tool writes them, by a name of yours."""
        raise NotImplementedError

    def test_it_knows_its_own_files_whatever_they_are_called(self) -> None:
        """By what is in them."""
        assert self.examples(), "no example"
        for name, data in self.examples().items():
            with written(data, "thing.dat") as path:
                assert self.reader().sniff(Content(path)), f"{name} is not recognised"

    def test_it_leaves_other_files_alone(self) -> None:
        """Neither raising anything but `ReadError` nor taking them."""
        for data in _FOREIGN:
            with written(data) as path:
                assert not self.reader().sniff(Content(path)), f"{data!r} is taken for a file of {self.reader().tool}"

    def test_the_series_keep_their_contract(self) -> None:
        """Named once for each metric, in base units, finite, with texts as keys, and the same each time."""
        for name, data in self.examples().items():
            with written(data) as path:
                first, second = self.reader().read(Content(path)), self.reader().read(Content(path))
            assert encode(first) == encode(second), f"{name} is read in two ways"
            assert decode(encode(first), SeriesSet) == first, f"{name} does not survive being stored"
            assert first.tool == self.reader().tool
            _check(first, name)

    def test_a_file_that_is_cut_short_is_refused_or_its_loss_counted(self) -> None:
        """At any byte; with nothing but a `ReadError`."""
        for name, data in self.examples().items():
            for end in range(0, len(data) - 1, max(1, len(data) // _CUTS)):
                with written(data[:end]) as path:
                    self._refused_or_read(path, f"{name} cut at byte {end}")

    def test_damage_is_refused_or_counted(self) -> None:
        """A byte that is no text, a number that is none, a value of another type."""
        for name, data in self.examples().items():
            middle = len(data) // 2
            damaged = (
                data[:middle] + b"\xff" + data[middle:],
                data.replace(b"1", b"NaN", 1),
                data.replace(b": [", b": 7, [", 1),
                data.replace(b"[", b"{"),
            )
            for number, version in enumerate(damaged):
                with written(version) as path:
                    self._refused_or_read(path, f"{name}, damage {number}")

    def _refused_or_read(self, path: Path, what: str) -> None:
        from .reading import read_results  # the door adds what a reader stumbles over

        found: SeriesSet | ReadError
        try:
            found = read_results(path)
        except ReadError as error:
            found = error
        if isinstance(found, ReadError):
            assert str(path) in str(found), f"{what}: the file is not named: {found}"
        else:
            _check(found, what)


def _check(found: SeriesSet, what: str) -> None:
    names = [(series.name, series.metric) for series in found.series]
    assert names, f"{what}: no series and no refusal"
    assert len(names) == len(set(names)), f"{what}: a name occurs twice"
    for series in found.series:
        assert series.name, f"{what}: a series without a name"
        assert np.isfinite(series.values.values).all(), f"{what}: {series.name} is not finite"
        assert len(series.values) or series.aggregates, f"{what}: {series.name} is empty"
        assert all(isinstance(value, str) and value for value in series.keys.values()), f"{what}: a key of {series.name} that is no text"
        assert series.processes_known or not series.process.values.any(), f"{what}: {series.name} numbers processes it does not know"
    counts = [entry.count for series in found.series for entry in series.left_out] + [entry.count for entry in found.left_out]
    assert all(count > 0 for count in counts), f"{what}: something is left out no times"
