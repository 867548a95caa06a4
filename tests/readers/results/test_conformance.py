"""Every reader of ours keeps the conformance class that a stranger's has to keep, and knows its files only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from ridgeline.core import plugins
from ridgeline.readers.results import Content, ResultReader, read_results, sniff
from ridgeline.readers.results.testing import ResultReaderConformance
from support.result_files import EXAMPLES

FILES = [(tool, name) for tool, files in EXAMPLES.items() for name in files]


@pytest.mark.parametrize("tool", sorted(EXAMPLES))
class TestOurs:
    """One call a test of the class: the class itself is written for a single reader."""

    @pytest.mark.parametrize("name", [name for name in vars(ResultReaderConformance) if name.startswith("test_")])
    def test_conformance(self, tool: str, name: str) -> None:
        class Ours(ResultReaderConformance):
            def reader(self) -> ResultReader:
                made: ResultReader = plugins.load("result_readers", tool)()
                return made

            def examples(self) -> Mapping[str, bytes]:
                return EXAMPLES[tool]

        getattr(Ours(), name)()


def test_every_reader_comes_through_the_door_and_has_examples() -> None:
    # What ridgeline itself writes has no tool of its own in the examples.
    assert set(plugins.names("result_readers")) - {"ridgeline"} == set(EXAMPLES)
    for name, reader in plugins.plugins("result_readers"):
        assert reader.tool == name


@pytest.mark.parametrize(("tool", "name"), FILES)
def test_exactly_one_reader_knows_a_file(tmp_path: Path, tool: str, name: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(EXAMPLES[tool][name])
    knowing = [other for other, reader in plugins.plugins("result_readers") if reader().sniff(Content(path))]
    assert knowing == [tool]
    assert sniff(path) == tool
    assert read_results(path).tool == tool
    assert read_results(path).source == str(path)
