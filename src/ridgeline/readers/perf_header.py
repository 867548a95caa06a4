"""The line that begins a sample of `perf script`: command, process and thread, cpu, time, period, event, whichever of them the field set prints.

This module decides which fields a line holds; what follows it (frames) is left to `perf_script`. The fields and their order are those of
tools/perf/Documentation/perf-script.txt (Linux), option -F; a field that is not printed leaves no gap, so that each is told by its shape.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Header", "header_of", "loose_header"]

#: No header is longer, so that no line of blanks can be searched for ever.
_LONGEST = 4096
_HEADER = re.compile(
    r" *(?P<command>[^\t\n]*?[^\t\n ]) +(?P<process>-?\d+)(?:/(?P<thread>-?\d+))?(?: +[A-Z]{1,3})? +(?:\[-?\d+\] +)?(?:[^ \d\[][^ :]{3,5} +)?"
    r"(?P<time>\d+\.\d+): +(?:(?P<period>\d+) +)?(?P<event>[^ ]+):(?: +(?P<rest>.*))?"
)
_TIME = re.compile(r"\d+\.\d+:")
_TIME_IN = re.compile(r"\d\.\d+: ")
_IDS = re.compile(r"(-?\d+)(?:/(-?\d+))?")
_CPU = re.compile(r"\[\d+\]")


class Header(NamedTuple):
    """What a header says; `time` and `period` as text, empty where they are not printed; `rest` is what stands behind the event on the line."""

    command: str
    thread: str = ""
    time: str = ""
    period: str = ""
    event: str = ""
    rest: str = ""


def header_of(line: str) -> Header | None:
    """The fields of a line with all that `perf script` prints by default, or `None`.

    >>> header_of("V8 Worker 12/14 [001] 5.250000:  1001001 cpu-clock:ppp: ")
    Header(command='V8 Worker', thread='12/14', time='5.250000', period='1001001', event='cpu-clock:ppp', rest='')
    """
    # Most lines are none, which their lack of a time tells soonest.
    found = _HEADER.fullmatch(line) if len(line) <= _LONGEST and _TIME_IN.search(line) else None
    if found is None:
        return None
    process, thread = found["process"], found["thread"]
    ids = f"{process}/{thread}" if thread else process
    return Header(found["command"], ids, found["time"], found["period"] or "", found["event"], (found["rest"] or "").strip())


def loose_header(line: str) -> Header | None:
    """The fields of a line of a field set that leaves some out; the command at least.

    >>> loose_header("bash 4711 cycles:")
    Header(command='bash', thread='4711', time='', period='', event='cycles', rest='')
    """
    if len(line) > _LONGEST:
        return None
    words = line.split()
    first = next((place for place, word in enumerate(words) if place and _is_field(word)), len(words))
    if first == len(words) and words and words[-1].endswith(":") and len(words) > 1:
        first = len(words) - 1
    command, fields = " ".join(words[:first]), words[first:]
    if not command or command.endswith(":"):
        return None
    return _from_fields(command, fields)


def _from_fields(command: str, fields: list[str]) -> Header:
    thread = time = period = event = ""
    for place, word in enumerate(fields):
        if _TIME.fullmatch(word):
            time = word[:-1]
        elif word.endswith(":") and len(word) > 1:
            return Header(command, thread, time, period, word[:-1], " ".join(fields[place + 1 :]))
        elif _IDS.fullmatch(word):
            thread, period = (thread, word if word.isdigit() else period) if thread or time else (word, period)
    return Header(command, thread, time, period, event, "")


def _is_field(word: str) -> bool:
    return bool(_TIME.fullmatch(word) or _IDS.fullmatch(word) or _CPU.fullmatch(word))
