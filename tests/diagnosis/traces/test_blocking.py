"""Names of calls that block, as tools write them, and names that only look alike."""

from __future__ import annotations

import pytest

from ridgeline.diagnosis.traces.blocking import blocks, sleeps


@pytest.mark.parametrize(
    "name",
    [
        "<built-in method time.sleep>", "<built-in function sleep>", "<method 'recv' of '_socket.socket' objects>", "time.sleep", "socket.recv",
        "sleep", "<built-in method poll of select.poll object at 0x7f10>", "<method 'readinto' of '_io.BufferedReader' objects>",
        "<built-in method posix.waitpid>", "__libc_recv", "__GI___clock_nanosleep", "clock_nanosleep", "epoll_wait@@GLIBC_2.3.2",
        "__x64_sys_read", "hrtimer_nanosleep", "do_sys_poll",
    ],
)  # fmt: skip
def test_calls_that_wait_for_something_outside(name: str) -> None:
    assert blocks(name)


@pytest.mark.parametrize(
    "name",
    [
        "<built-in method numpy.array>", "<built-in method select_rows of X object>", "<method 'connect_rows' of 'x' objects>", "aten::select",
        "spread", "input_layer", "my_read", "read_csv", "asleep", "polling", "reader", "sendrecv", "sender", "native_safe_halt", "recvfrom_queue", "",
    ],
)  # fmt: skip
def test_names_that_only_look_alike(name: str) -> None:
    assert not blocks(name)


def test_a_function_of_a_python_file_counts_only_in_the_library_that_waits() -> None:
    assert not blocks("read", "app/config.py")
    assert not blocks("sleep", "zoo/animals.py")
    assert blocks("readinto", "/usr/lib/python3.11/socket.py")
    assert not blocks("__init__", "/usr/lib/python3.11/socket.py")


@pytest.mark.parametrize(
    "name", ["<built-in method time.sleep>", "<built-in function sleep>", "usleep", "__GI___clock_nanosleep", "hrtimer_nanosleep"]
)
def test_calls_that_wait_for_time_alone(name: str) -> None:
    assert sleeps(name)
    assert not sleeps("<method 'recv' of '_socket.socket' objects>")
