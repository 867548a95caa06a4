"""What identifies a job beside its values, as texts: digests of files, options and inputs. Two jobs with equal texts may share a measured time."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from .base import Job

__all__ = ["digest", "digest_of_file", "digest_of_source", "digest_of_sources", "inputs_of", "options_of"]

#: An option that is no longer than this stands in an identity as it is, so that a difference can be read.
_READABLE = 200
_ABSENT = "absent"


def digest(value: Any) -> str:
    """Of plain values and structs, whatever the order of keys.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()[:32]


def digest_of_file(path: Path) -> str:
    """Of what is in a file; `absent` where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:32]
    except OSError:
        return _ABSENT


def digest_of_source(path: Path) -> str:
    """As `digest_of_file`, of a file that is asked for again and again: it is read again when its size or its times have changed."""
    try:
        state = path.stat()
    except OSError:
        return _ABSENT
    return _remembered(path, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


@lru_cache(maxsize=4096)
def _remembered(path: Path, *state: int) -> str:
    return digest_of_file(path)


def digest_of_sources(paths: Iterable[Path]) -> str:
    """Of what is in several files, whatever their order and wherever they lie; empty of none."""
    found = sorted({(path.name, digest_of_source(path)) for path in paths})
    return digest(found) if found else ""


def options_of(job: Job, paths: Collection[str] = ()) -> dict[str, str]:
    """Option → its value as text, or a digest of a long one.

    Args:
        paths: options that name files: what is in those counts and not where they lie, so that these are left to the runner.
    """
    texts = {name: _text(value) for name, value in job.options.items() if name not in paths}
    return {name: text if len(text) <= _READABLE else digest(text) for name, text in sorted(texts.items())}


def inputs_of(job: Job) -> dict[str, str]:
    """`inputs`: of the arguments with their fills."""
    return {"inputs": digest(job.arguments)}


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(_text(item) for item in value)
    return value if isinstance(value, str) else msgspec.json.encode(value, order="deterministic").decode()
