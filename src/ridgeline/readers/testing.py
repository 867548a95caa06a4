"""For authors of readers of profiles: a conformance test class.

Subclass `ProfileReaderConformance` in a test module, give `reader` and `examples`; a test runner such as pytest finds the rest. The examples should
be small files as the tool writes them.
"""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ridgeline.core import Profile, ReadError
from ridgeline.core.documents import decode, encode

from .reading import ProfileReader, read_profile
from .source import Source

__all__ = ["ProfileReaderConformance", "written"]

#: What no reader may take for its own.
_FOREIGN = (
    b"{}", b"[]", b"null", b"0", b"text\n", b"a,b\n1,2\n", b'{"benchmarks": []}', b"\x00" * 64, b"\xff\xfe", b"\x89PNG\r\n\x1a\n", b"%PDF-1.7\n",
    b"PK\x03\x04", b"<html></html>", b"SQLite format 3\x00",
)  # fmt: skip
#: At how many places an example is cut off or damaged.
_CUTS = 40


class ProfileReaderConformance:
    """What every reader of profiles must keep; override `reader` and `examples`."""

    def reader(self) -> ProfileReader:
        """The reader under test."""
        raise NotImplementedError

    def examples(self) -> Mapping[str, bytes]:
        """Files as the tool writes them, by a name of yours."""
        raise NotImplementedError

    def test_it_knows_its_own_files_whatever_they_are_called(self) -> None:
        """By what is in them, and surer than any other reader."""
        assert self.examples(), "no example"
        for name, data in self.examples().items():
            with written(data, "thing.dat") as path:
                assert self.reader().recognises(Source(path)) > 0, f"{name} is not recognised"
                assert read_profile(path).format == self.reader().format, f"{name} is read by another reader"

    def test_it_leaves_other_files_alone(self) -> None:
        """Neither raising nor taking them."""
        for data in _FOREIGN:
            with written(data) as path:
                assert self.reader().recognises(Source(path)) == 0, f"{data!r} is taken for a file of {self.reader().format}"

    def test_it_reads_packed_files_alike(self) -> None:
        """Packed with gzip, in one member and in two, the same but for the name of the file."""
        for name, data in self.examples().items():
            half = len(data) // 2
            forms = (data, gzip.compress(data), gzip.compress(data[:half]) + gzip.compress(data[half:]))
            found = [_without_files(self._read(form)) for form in forms]
            assert found[0] == found[1] == found[2], f"{name} is read otherwise once packed"

    def test_the_profile_keeps_its_contract(self) -> None:
        """The same each time, and whole after being stored; something in it; what is left out counted."""
        for name, data in self.examples().items():
            first, second = self._read(data), self._read(data)
            assert _without_files(first) == _without_files(second), f"{name} is read in two ways"
            assert decode(encode(first), Profile) == first, f"{name} does not survive being stored"
            _check(first, name)

    def test_a_file_that_is_cut_short_is_refused_or_its_loss_told(self) -> None:
        """At any byte; with nothing but a `ReadError` that names the file."""
        for name, data in self.examples().items():
            for end in range(1, len(data) - 1, max(1, len(data) // _CUTS)):
                self._refused_or_read(data[:end], f"{name} cut at byte {end}")

    def test_damage_is_refused_or_told(self) -> None:
        """Bytes that are no text, numbers that are none, and bytes turned over."""
        for name, data in self.examples().items():
            step = max(1, len(data) // _CUTS)
            for place in range(0, len(data), step):
                self._refused_or_read(data[:place] + b"\xff" + data[place + 1 :], f"{name}, byte {place} damaged")
            for old, new in ((b"1", b"NaN"), (b"1", b"-1"), (b"0", b"1e999"), (b"[", b"{"), (b"\n", b"\r\n"), (b"\n", b"\n\n")):
                self._refused_or_read(data.replace(old, new), f"{name}, {new!r} for {old!r}")

    def _read(self, data: bytes) -> Profile:
        with written(data) as path:
            return self.reader().read(Source(path))

    def _refused_or_read(self, data: bytes, what: str) -> None:
        with written(data) as path:
            found: Profile | ReadError
            try:
                found = read_profile(path, format=self.reader().format)
            except ReadError as error:
                found = error
            if isinstance(found, ReadError):
                assert str(path) in str(found), f"{what}: the file is not named: {found}"
            else:
                _check(found, what)


def _without_files(profile: Profile) -> bytes:
    import msgspec

    return bytes(encode(msgspec.structs.replace(profile, files=())))


def _check(profile: Profile, what: str) -> None:
    holds = (profile.timeline, profile.counters, profile.kernels, profile.partitions, *profile.tables, *profile.stacks)
    assert any(part is not None for part in holds), f"{what}: nothing was read and nothing refused"
    reasons = [entry.reason for entry in profile.excluded]
    assert len(reasons) == len(set(reasons)), f"{what}: a reason stands twice"
    assert all(entry.events > 0 for entry in profile.excluded), f"{what}: something is left out no times"


@contextmanager
def written(data: bytes, name: str = "file.dat") -> Iterator[Path]:
    """A file of these bytes, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / name
        path.write_bytes(data)
        yield path
