"""Fuzz one reader of profiles, led by the branches it takes, from the examples of its conformance test.

    python tests/fuzz/run.py chrome --seconds 1200

Needs atheris (`pip install atheris`), which no test does. Whatever is raised but a `ReadError` is a finding: its input is kept under `build/fuzz`,
one for each place, with the traceback beside it, and fuzzing goes on. An input that hangs or takes too much memory ends the run and is kept too.
Findings, and a choice of the inputs that took new branches, go to `corpus/FORMAT.jsonl`, which `test_corpus.py` replays.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import importlib
import json
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORPUS = HERE / "corpus"
sys.path.insert(0, str(HERE.parent))

_LONGEST_INPUT = 2**15
_MEMORY_MB, _HANG_S = 3000, 20
#: A process of atheris grows by some 16 KB with each input, whatever it runs; the next one goes on with the corpus of the last.
_SLICE_S = 120


def examples() -> dict[str, list[bytes]]:
    """Format → the examples of the conformance tests."""
    from ridgeline.readers.testing import ProfileReaderConformance

    found: dict[str, list[bytes]] = {}
    for path in sorted((HERE.parent / "readers").glob("test_*.py")):
        module = importlib.import_module(f"readers.{path.stem}")
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, ProfileReaderConformance) and value is not ProfileReaderConformance:
                case = value()
                found.setdefault(case.reader().format, []).extend(case.examples().values())
    return found


def _one(format: str, findings: Path, path: Path):
    from ridgeline.core import ReadError
    from ridgeline.readers import Limits, read_profile

    limits = Limits(unpacked_bytes=2**26, whole_bytes=2**26)

    def one(data: bytes) -> None:
        path.write_bytes(data)
        try:
            read_profile(path, format=format, limits=limits)
        except ReadError as error:
            # The door turns what a reader stumbles over into a refusal; a reader that knows its format does not stumble.
            cause = error.__cause__
            if cause is not None and f"{type(cause).__name__}: " in error.found:
                _keep(findings, data, cause)
        except Exception as error:  # a finding, whatever it is
            _keep(findings, data, error)

    return one


def _keep(findings: Path, data: bytes, error: BaseException) -> None:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "ridgeline" in frame.filename]
    place = f"{type(error).__name__}@{Path(frames[-1].filename).stem}:{frames[-1].lineno}" if frames else type(error).__name__
    name = hashlib.sha256(place.encode()).hexdigest()[:12]
    kept = findings / f"{name}.input"
    if kept.exists() and kept.stat().st_size <= len(data):
        return
    kept.write_bytes(data)
    (findings / f"{name}.txt").write_text(place + "\n" + "".join(traceback.format_exception(error)), encoding="utf-8")


def fuzz(format: str, seconds: int, findings: Path, corpus: Path) -> None:
    """In this process; ends it."""
    import ridgeline._native  # noqa: F401

    # The finder of an editable install, which the C module alone needs, loads modules past atheris, which then follows no branch and mutates blindly.
    sys.meta_path[:] = [finder for finder in sys.meta_path if "Editable" not in type(finder).__name__ and "Redirecting" not in type(finder).__name__]
    import atheris

    with atheris.instrument_imports(include=["ridgeline.readers"]):
        from ridgeline.readers import read_profile  # noqa: F401

        # A reader that does not load refuses everything, which looks like a reader without a fault.
        importlib.import_module("ridgeline.readers.reading")._named(format)
    scratch = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)) / "input"
    options = [
        f"-max_total_time={seconds}", f"-max_len={_LONGEST_INPUT}", f"-rss_limit_mb={_MEMORY_MB}", f"-timeout={_HANG_S}", "-print_final_stats=1",
        "-verbosity=1", f"-artifact_prefix={findings}/",
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *options, str(corpus)], _one(format, findings, scratch))
    atheris.Fuzz()


def seeds(format: str, corpus: Path) -> None:
    """The examples, and what earlier runs kept."""
    known = examples().get(format, [])
    kept = CORPUS / f"{format}.jsonl"
    if kept.exists():
        known += [base64.b64decode(json.loads(line)["data"]) for line in kept.read_text(encoding="utf-8").splitlines()]
    for data in known:
        (corpus / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data[:_LONGEST_INPUT])


def keep(format: str, inputs: list[Path], most: int) -> int:
    """Add inputs to the corpus that is replayed, the smallest first; how many are there then."""
    CORPUS.mkdir(exist_ok=True)
    path = CORPUS / f"{format}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    known = {json.loads(line)["data"] for line in lines}
    for each in sorted(inputs, key=lambda one: one.stat().st_size):
        data = base64.b64encode(each.read_bytes()).decode()
        if len(lines) < most and data not in known:
            lines.append(json.dumps({"data": data}))
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return len(lines)


def main() -> None:
    """Fuzz in a child, as libFuzzer ends its process; then keep what it found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("format")
    parser.add_argument("--seconds", type=int, default=180)
    parser.add_argument("--keep", type=int, default=60, help="inputs of the corpus that is replayed; 0 keeps none")
    parser.add_argument("--work", type=Path, default=HERE.parents[1] / "build" / "fuzz")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    findings, corpus = arguments.work / arguments.format / "findings", arguments.work / arguments.format / "corpus"
    for folder in (findings, corpus):
        folder.mkdir(parents=True, exist_ok=True)
    if arguments.inside:
        fuzz(arguments.format, arguments.seconds, findings, corpus)
        return
    seeds(arguments.format, corpus)
    code, left = 0, arguments.seconds
    while left > 0 and code == 0:
        seconds = min(left, _SLICE_S)
        command = [sys.executable, __file__, arguments.format, "--seconds", str(seconds), "--work", str(arguments.work), "--inside"]
        code = subprocess.run(command, check=False).returncode
        left -= seconds
    if arguments.keep:
        grown = sorted(corpus.iterdir(), key=lambda one: one.stat().st_size)
        chosen = [each for each in findings.iterdir() if each.suffix != ".txt"] + grown[:: max(1, len(grown) // arguments.keep)]
        print(f"{arguments.format}: {keep(arguments.format, chosen, arguments.keep)} inputs in the corpus")
    found = sorted(findings.glob("*"))
    print(f"{arguments.format}: exit code {code}, {len([each for each in found if each.suffix != '.txt'])} findings in {findings}")


if __name__ == "__main__":
    main()
