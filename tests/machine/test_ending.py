from __future__ import annotations

import resource
import signal

import pytest

from ridgeline.machine.ending import cpu_limit_reached, crash_place, ended, signal_name

DUMP = """Fatal Python error: Segmentation fault

Thread 0x00007f01 (most recent call first):
  File "/lib/python3/threading.py", line 320 in wait
  File "/home/me/other.py", line 4 in worker

Current thread 0x00007f02 (most recent call first):
  File "/lib/python3/ctypes/__init__.py", line 519 in string_at
  File "/home/me/a dir/mine.py", line 12 in crash
  File "/site/ridgeline/machine/child.py", line 90 in _run
  File "<string>", line 1 in <module>

Extension modules: numpy (total: 1)
"""


def test_the_users_innermost_frame_of_the_crashing_thread_is_the_place() -> None:
    assert crash_place(DUMP, "/site/ridgeline", ("/lib/python3",)) == " at /home/me/a dir/mine.py:12 in crash"


def test_without_a_frame_of_the_user_the_innermost_library_frame_is_the_place() -> None:
    dump = DUMP.replace("/home/me", "/lib/python3")
    assert crash_place(dump, "/site/ridgeline", ("/lib/python3",)) == " at /lib/python3/ctypes/__init__.py:519 in string_at"


@pytest.mark.parametrize("dump", ["", "nonsense\n\n\n", 'File "x", line y in z'])
def test_a_dump_without_frames_has_no_place(dump: str) -> None:
    assert crash_place(dump, "/site/ridgeline") == ""


def test_signals_have_names() -> None:
    assert signal_name(signal.SIGSEGV) == "SIGSEGV (segmentation fault)"
    assert "250" in signal_name(250)


@pytest.mark.parametrize("status", [0, 3, 255, *(-number for number in signal.valid_signals()), -250])
def test_every_status_makes_a_whole_error(status: int) -> None:
    error = ended(status)
    assert error.found
    assert error.remedy


def test_a_memory_limit_is_named_where_it_may_be_the_reason() -> None:
    assert "123456" in ended(-signal.SIGABRT, memory_bytes=123456).remedy
    assert "123456" not in ended(3, memory_bytes=123456).remedy


def test_the_limit_on_cpu_time_is_told_from_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "memory" in ended(-signal.SIGKILL).remedy
    assert "CPU time" in ended(-signal.SIGXCPU).remedy
    monkeypatch.setattr(resource, "getrlimit", lambda which: (2, 2))
    assert cpu_limit_reached(-signal.SIGKILL, 2.0)
    assert cpu_limit_reached(-signal.SIGXCPU, None)
    assert cpu_limit_reached(-signal.SIGKILL, 1.2)
    assert not cpu_limit_reached(-signal.SIGKILL, 0.9)
    assert not cpu_limit_reached(-signal.SIGSEGV, 2.0)
    assert not cpu_limit_reached(0, 2.0)
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY,) * 2)
    assert not cpu_limit_reached(-signal.SIGKILL, 1e9)


def test_how_a_process_ended_stays_with_the_error() -> None:
    assert ended(-signal.SIGSEGV, tail="last").status == -signal.SIGSEGV
    assert ended(3).status == 3
    assert ended(3, tail="last").tail == "last"
