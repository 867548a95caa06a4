"""For authors of readers of recorded latencies: a conformance test class.

Subclass `LatencyReaderConformance` in a test module, give `reader` and `example`; a test runner such as pytest finds the rest. The example should be
a small part of the recordings, with the files named and laid out as they are published.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ridgeline.core import LatencyTable, ReadError, RecordedNetwork
from ridgeline.core.documents import decode, encode

from .folder import Folder
from .reading import LatencyReader

__all__ = ["LatencyReaderConformance", "laid_out"]

#: What no reader may take for its own.
_FOREIGN = (b"{}", b"[]", b"text\n", b"a,b\n1,2\n", b"\x00" * 64, b"\x1f\x8b\x08\x00", b"PK\x03\x04", b'{"e2e": 1}')
#: At how many places each file of the example is cut off.
_CUTS = 12


class LatencyReaderConformance:
    """What every reader of recorded latencies must keep; override `reader` and `example`."""

    def reader(self) -> LatencyReader:
        """The reader under test."""
        raise NotImplementedError

    def example(self) -> Mapping[str, bytes]:
        """Files by their path in the folder."""
        raise NotImplementedError

    def test_it_knows_its_own_folder_wherever_it_lies(self) -> None:
        """By what is in the files."""
        with laid_out(self.example()) as place:
            assert self.reader().sniff(Folder(place)), "the example is not recognised"

    def test_it_leaves_other_files_alone(self) -> None:
        """Neither raising nor taking them."""
        for data in _FOREIGN:
            with laid_out({"data/thing.csv": data}) as place:
                assert not self.reader().sniff(Folder(place)), f"{data!r} is taken for recordings of {self.reader().origin}"

    def test_rows_keep_their_contract(self) -> None:
        """Positive seconds, named devices and families, the same each time, and every shape of a device once."""
        with laid_out(self.example()) as place:
            table, again = self.reader().read(Folder(place)), self.reader().read(Folder(place))
            networks = self.reader().networks(Folder(place))
        assert encode(table) == encode(again), "read in two ways"
        assert decode(encode(table), LatencyTable) == table, "does not survive being stored"
        assert len(table), "no row"
        assert (table.latency_s.values > 0).all(), "a row of no time"
        assert all([*table.texts("device"), *table.texts("kind")]), "a row without device or kind"
        assert table.source, "rows whose source is not named"
        shapes = table.shape_codes("device", "precision", "core_clock_hz", "memory_clock_hz")
        assert len(np.unique(shapes)) == len(table), "the same measurement twice"
        for network in networks:
            assert decode(encode(network), RecordedNetwork) == network, "a network does not survive being stored"
            assert all((network.latency_s > 0, network.device, network.file)), "a network without time, device or file"

    def test_a_file_that_is_cut_short_is_refused_or_its_loss_counted(self) -> None:
        """At any byte; with nothing that the door does not know."""
        for name, data in self.example().items():
            for end in range(0, len(data), max(1, len(data) // _CUTS)):
                with laid_out({**self.example(), name: data[:end]}) as place:
                    _refused_or_read(self.reader().read, place, f"{name} cut at byte {end}")
                    _refused_or_read(self.reader().networks, place, f"{name} cut at byte {end}")

    def test_damage_is_refused_or_counted(self) -> None:
        """A byte that is no text, numbers that are none, negative or too large."""
        for name, data in self.example().items():
            for number, version in enumerate(
                (data.replace(b"1", b"\xff"), data.replace(b"1", b"NaN"), data.replace(b"1", b"-1"), data.replace(b".", b"e300."))
            ):
                with laid_out({**self.example(), name: version}) as place:
                    _refused_or_read(self.reader().read, place, f"{name}, damage {number}")
                    _refused_or_read(self.reader().networks, place, f"{name}, damage {number}")


def _refused_or_read(read: Callable[[Folder], object], place: Path, what: str) -> None:
    try:
        found = read(Folder(place))
    except (ReadError, ValueError, LookupError, ArithmeticError, TypeError):
        return  # of what a reader stumbles over the door makes a ReadError
    if isinstance(found, LatencyTable):
        assert ((found.latency_s.values > 0) & np.isfinite(found.latency_s.values)).all(), f"{what}: a latency that cannot be"


@contextmanager
def laid_out(files: Mapping[str, bytes]) -> Iterator[Path]:
    """A folder with these files, by their path in it."""
    with tempfile.TemporaryDirectory(prefix="ridgeline-") as place:
        for name, data in files.items():
            path = Path(place, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        yield Path(place)
