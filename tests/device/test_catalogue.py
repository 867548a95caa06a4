"""The catalogue: every number has a source, worked examples come out, and nothing hostile gets in or out with a traceback."""

from __future__ import annotations

import os
import re
import tomllib
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import Device, PluginError, ReadError, RidgelineError, UsageError
from ridgeline.core.units import parse
from ridgeline.device import broken, catalogue, find, read_device, select, shipped
from ridgeline.device.files import parse_device
from ridgeline.device.testing import DeviceConformance, fake_device

FILES = sorted(
    (entry for entry in (resources.files("ridgeline.device") / "data").iterdir() if entry.name.endswith(".toml")), key=lambda entry: entry.name
)

GOOD = """
name = "Thing"
kind = "npu"
[source.sheet]
from = "data sheet of the thing, page 2"
read = "2026-11"
[[ceiling]]
engine = "fma"
precision = "int8"
rate = "4 TFLOP/s"
source = "sheet"
[[bandwidth]]
level = "DRAM"
rate = "10 GB/s"
source = "sheet"
"""


class TestShipped(DeviceConformance):
    def devices(self) -> tuple[Device, ...]:
        return shipped()


class TestFake(DeviceConformance):
    def devices(self) -> tuple[Device, ...]:
        return (fake_device(),)


def test_conformance_catches_a_device_without_origin() -> None:
    import msgspec

    good = fake_device()
    bare = msgspec.structs.replace(good.ceilings[0].rate, origin="")
    bad = msgspec.structs.replace(good, ceilings=(msgspec.structs.replace(good.ceilings[0], rate=bare), *good.ceilings[1:]))

    class Bad(DeviceConformance):
        def devices(self) -> tuple[Device, ...]:
            return (bad,)

    with pytest.raises(AssertionError, match="without origin"):
        Bad().test_every_quantity_names_its_origin_and_the_device_its_date()


@pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry.name)
def test_every_number_of_a_file_names_a_source_with_a_date(entry) -> None:
    """Independent of the reader: walks the raw TOML."""
    plain = tomllib.loads(entry.read_text(encoding="utf-8"))
    sources = plain["source"]
    assert all(re.fullmatch(r"\d{4}-\d{2}(-\d{2})?", source["read"]) and source["from"] for source in sources.values())
    numbers = 0
    for value in plain.values():
        for table in value if isinstance(value, list) else [value]:
            if isinstance(table, dict) and table is not sources:
                assert table["source"] in sources
                numbers += 1
    assert numbers >= 2
    assert {"value", "source"} <= set(plain.get("price", {"value": 0, "source": 0}))
    assert "price" not in plain or {"currency", "date", "provider"} <= set(plain["price"])


@pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry.name)
def test_every_source_is_used_or_named_in_a_note(entry) -> None:
    text = entry.read_text(encoding="utf-8")
    notes = " ".join(line for line in text.splitlines() if line.startswith(("note", "  ")))
    for name in tomllib.loads(text)["source"]:
        assert f'source = "{name}"' in text or f"({name})" in notes, name


def test_illustrative_device_is_that_of_the_method() -> None:
    device = find("illustrative")
    fma = {ceiling.threads: ceiling.rate.value for ceiling in device.ceilings if ceiling.engine == "fma"}
    read = {ceiling.threads: ceiling.rate.value for ceiling in device.ceilings if ceiling.engine == "read"}
    assert fma == {1: 32e9, 4: 128e9}
    assert read == {0: 17.1e9, 1: 6e9, 4: 13e9}
    assert device.clock_hz is not None
    assert device.clock_hz.value == 2e9
    # 32 GFLOP/s a core at 2 GHz is 16 FLOP a cycle; four cores are four times one.
    assert fma[1] / device.clock_hz.value == 16
    assert fma[4] == 4 * fma[1]
    assert all(ceiling.rate.source == "assumed" for ceiling in device.ceilings)


def test_h200_against_its_specification() -> None:
    device = find("H200")
    rates = {(ceiling.engine, ceiling.precision, ceiling.units): ceiling.rate.value for ceiling in device.ceilings}
    assert rates["fma", "bf16", "matrix"] == 989e12
    assert rates["fma", "bf16", "vector"] == 133.8e12
    assert rates["read", "any", None] == 4.8e12
    assert device.memory_bytes == 141 * 2**30
    assert rates["fma", "int8", "matrix"] == 2 * rates["fma", "bf16", "matrix"]


@pytest.mark.parametrize("device", shipped(), ids=lambda device: device.name)
def test_a_specification_gives_one_bandwidth_for_all_mixes(device: Device) -> None:
    for level in {ceiling.level for ceiling in device.ceilings if ceiling.level is not None}:
        mixes = {ceiling.engine: ceiling.rate for ceiling in device.ceilings if ceiling.level == level and ceiling.threads == 0}
        assert len(mixes) in (0, 4)
        assert len({rate.value for rate in mixes.values()}) <= 1


def test_a_price_is_per_device() -> None:
    price = find("a100 sxm 40gb").price_per_hour
    assert price is not None
    assert price.value == pytest.approx(10.32 / 8)
    assert price.unit == "USD/h"
    assert "Lambda" in price.origin
    assert "2026-11" in price.origin


def test_there_is_something_of_every_sort() -> None:
    """Thirty devices at least: server, desktop and phone CPUs, GPUs of three makers, NPUs from a microcontroller's to a data centre's."""
    names = " | ".join(device.name for device in shipped())
    assert len(shipped()) >= 30
    for word in (
        "Xeon",
        "EPYC",
        "Ryzen",
        "Graviton",
        "Snapdragon 855 CPU",
        "NVIDIA",
        "AMD Instinct",
        "Radeon",
        "Intel Arc",
        "Ethos-U55",
        "Ethos-U85",
        "Hexagon",
        "Coral",
    ):
        assert word in names
    for word in ("Hailo", "TPU v5e", "V100", "T4", "MI250", "H100", "L4 ", "B200"):
        assert word in names


def test_dense_and_sparse_base_and_boost_stand_apart() -> None:
    device = find("NVIDIA A100 SXM 80GB")
    dense = {(c.precision, c.units): c.rate.value for c in device.ceilings if c.engine == "fma"}
    sparse = {c.precision: c.rate.value for c in device.sparse}
    assert dense["fp32", "vector"] == 19.49e12
    assert dense["bf16", "matrix"] == 312e12
    assert sparse["bf16"] == 2 * dense["bf16", "matrix"]
    assert device.base_clock_hz is not None
    assert device.boost_clock_hz is not None
    assert (device.base_clock_hz.value, device.boost_clock_hz.value) == (1275e6, 1410e6)
    assert device.execution_units == 108
    assert (device.warp_threads, device.max_threads_per_unit, device.max_groups_per_unit) == (32, 2048, 32)
    assert {port.name: port.bandwidth.value for port in device.ports} == {"NVLink": 300e9, "PCIe": 32e9}


def test_arrays_of_an_npu() -> None:
    device = find("Arm Ethos-U65-512")
    assert device.execution_units == 2
    assert sum(array.rows * array.columns * array.count for array in device.mac_arrays) == 512
    peak = next(c.rate.value for c in device.ceilings if c.engine == "fma")
    assert device.clock_hz is not None
    assert peak == 512 * 2 * device.clock_hz.value


#: Contradictions between sources that are known and explained in the file's own notes; a new one is a slip until somebody explains it.
KNOWN_DOUBTS = {"NVIDIA B200 SXM 180GB": "fp32", "NVIDIA B300 SXM 288GB": "sparse fp4"}


@pytest.mark.parametrize("device", shipped(), ids=lambda device: device.name)
def test_what_does_not_fit_together_is_known_and_explained(device: Device) -> None:
    doubts = [note for note in device.notes if note.startswith("check: ")]
    expected = KNOWN_DOUBTS.get(device.name)
    assert len(doubts) == (expected is not None), doubts
    if expected is not None:
        assert expected in doubts[0]
        assert any(note.startswith(expected.split()[-1]) for note in device.notes), "no note of the file says why"


def test_devices_are_selected_by_kind_and_vendor() -> None:
    assert {device.kind for device in select(kind="npu")} == {"npu"}
    assert select(vendor="nvidia") == select(vendor=" NVIDIA ")
    assert set(select(kind="cpu", vendor="Intel")) == set(select(kind="cpu")) & set(select(vendor="Intel"))
    assert select() == catalogue()
    with pytest.raises(UsageError, match=r"vendors: .*NVIDIA"):
        select(kind="cpu", vendor="NVIDIA")


def test_catalogue_comes_through_the_plugin_door() -> None:
    assert set(shipped()) <= set(catalogue())
    assert broken() == ()
    assert [device.name for device in catalogue()] == sorted(device.name for device in catalogue())


@pytest.mark.parametrize("device", shipped(), ids=lambda device: device.name)
def test_every_device_is_found_by_its_name(device: Device) -> None:
    assert find(device.name) == device
    assert find(device.name.upper().replace(" ", "-")) == device


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("a100", "fits NVIDIA A100"), ("h100", "fits NVIDIA H100 PCIe 80GB, NVIDIA H100 SXM 80GB"), ("h1000", "H100"), ("", "take one of"),
        ("\x00\n", "take one of"), ("a100sxm", "fits NVIDIA A100 SXM 40GB, NVIDIA A100 SXM 80GB"), ("l40", "take one of: NVIDIA L40S 48GB"),
        ("nvidia h100 80gb hbm3", "take one of: NVIDIA H100 SXM 80GB"), ("H100-SXM5", "take one of: NVIDIA H100 SXM 80GB"),
        ("tpu v5", "take one of: Google TPU v5e, Google TPU v5p"),
    ],
)  # fmt: skip
def test_a_name_that_does_not_fit_names_its_neighbours(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        find(name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "device"), [("h100sxm", "NVIDIA H100 SXM 80GB"), ("RX7900XTX", "AMD Radeon RX 7900 XTX"), ("tpuv5e", "Google TPU v5e")]
)
def test_words_may_be_written_as_one(name: str, device: str) -> None:
    assert find(name).name == device


@given(st.text(max_size=300))
def test_any_name_finds_a_device_or_says_so(name: str) -> None:
    try:
        device = find(name)
    except UsageError as error:
        line = str(error)
    else:
        line = device.name
        assert device in catalogue()
    assert len(line.splitlines()) == 1


def test_a_broken_plugin_hides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    module = importlib.import_module("ridgeline.device.catalogue")
    plugins = {
        "ours": shipped,
        "raises": lambda: 1 / 0,
        "wrong": lambda: ("no device",),
        "again": lambda: shipped()[:1],
        "not-callable": 7,
    }

    def load(kind: str, name: str) -> object:
        if name == "absent":
            raise PluginError("plugin absent of x to load", found="ImportError", remedy="update x")
        return plugins[name]

    monkeypatch.setattr(module, "names", lambda kind: (*plugins, "absent"))
    monkeypatch.setattr(module, "load", load)
    module._survey.cache_clear()
    try:
        assert len(module.catalogue()) == len(shipped())
        text = " | ".join(str(error) for error in module.broken())
        assert len(module.broken()) == 5
        assert "ZeroDivisionError" in text
        assert "str" in text
        assert "occur once" in text
        with pytest.raises(UsageError, match="left out"):
            module.find("zzz")
    finally:
        module._survey.cache_clear()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('kind = "npu"', 'kind = "toaster"', "kind"),
        ('rate = "4 TFLOP/s"', 'rate = "4 TB/s"', r"ceiling\[0\].rate"),
        ('rate = "4 TFLOP/s"', 'rate = "nan FLOP/s"', r"ceiling\[0\].rate"),
        ('rate = "4 TFLOP/s"', 'rate = "-4 TFLOP/s"', "not above zero"),
        ('rate = "4 TFLOP/s"', 'rate = "0 FLOP/s"', "not above zero"),
        ('rate = "4 TFLOP/s"', "rate = 4", "rate"),
        ('rate = "4 TFLOP/s"', 'rate = "1e400 FLOP/s"', r"ceiling\[0\].rate"),
        ('engine = "fma"', 'engine = "read"', r"\[\[bandwidth\]\]"),
        ('engine = "fma"', 'engine = "warp"', "engine"),
        ('rate = "10 GB/s"\nsource = "sheet"', 'rate = "10 GB/s"\nsource = "memory"', r"no \[source.memory\]"),
        ('rate = "10 GB/s"\nsource = "sheet"', 'rate = "10 GB/s"', "source"),
        ('read = "2026-11"', 'read = "lately"', "read"),
        ('read = "2026-11"', 'read = "2026-11"\nextra = 1', "extra"),
        ('level = "DRAM"', 'level = "DRAM"\nthreads = -1', "threads"),
        ('name = "Thing"', 'name = ""', "name"),
        ('name = "Thing"', 'name = "Thing', "Thing|line"),
        ("[source.sheet]", "[execution_units]\nvalue = 2.5\nsource = 'sheet'\n[source.sheet]", "execution_units"),
        ("[source.sheet]", "[execution_units]\nvalue = '2.5'\nsource = 'sheet'\n[source.sheet]", "execution_units"),
        ("[source.sheet]", "[[sparse]]\nengine='read'\nprecision='int8'\nrate='8 TFLOP/s'\nsource='sheet'\n[source.sheet]", r"sparse\[0\]"),
        ("[source.sheet]", "[[port]]\nname='PCIe'\nrate='8 TFLOP/s'\nsource='sheet'\n[source.sheet]", r"port\[0\].rate"),
        ("[source.sheet]", "[[lanes]]\nprecision='int8'\nunits='tensor'\nper_unit=8\nsource='sheet'\n[source.sheet]", "units"),
        ("[source.sheet]", "[[lanes]]\nprecision='int8'\nunits='matrix'\nper_unit=0\nsource='sheet'\n[source.sheet]", "per_unit"),
        ("[source.sheet]", "[[mac_array]]\nrows=8\ncolumns=8\nprecision='int8'\nsource='hearsay'\n[source.sheet]", "source.hearsay"),
        ("[source.sheet]", "[price]\nvalue='1'\ncurrency='DOGE'\nprovider='x'\ndate='2026-11'\nsource='sheet'\n[source.sheet]", "currency"),
    ],
)
def test_a_wrong_key_is_named_with_the_file(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert GOOD.count(old) == 1
    path = tmp_path / "thing.toml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(ReadError, match=says) as caught:
        read_device(path)
    assert "thing.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_good_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "thing.toml"
    path.write_text(GOOD)
    device = read_device(path)
    assert device.name == "Thing"
    assert device.ceilings[0].rate.value == parse("4 TFLOP/s", "FLOP/s")
    assert "page 2" in device.ceilings[0].rate.origin


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"", b"#" * 300_000, b"a = " + b"[" * 5000, b"\x00", b"name = 1"])
def test_hostile_bytes_are_one_line(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(data)
    with pytest.raises(ReadError) as caught:
        read_device(path)
    assert "x.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_file_is_one_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    for path in (tmp_path, tmp_path / "none.toml", tmp_path / "pipe.toml", Path("a\0b"), Path("/dev/zero")):
        with pytest.raises(ReadError):
            read_device(path)


@given(st.text(max_size=400))
def test_any_text_is_a_device_or_an_error_of_ours(text: str) -> None:
    with pytest.raises(RidgelineError):
        parse_device(text, "x.toml")
