"""For authors of device plugins: a conformance test class and a fake device with round numbers.

Subclass `DeviceConformance` in a test module and give `devices`; a test runner such as pytest finds the rest.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..core import Ceiling, Device, MemoryLevel, Quantity
from ..core.device import ARITHMETIC_ENGINES, MEMORY_MIXES
from ..core.documents import decode, encode
from .plausible import doubts

__all__ = ["DeviceConformance", "fake_device"]


class DeviceConformance:
    """What every device of a catalogue must keep; override `devices`."""

    def devices(self) -> Iterable[Device]:
        """The devices under test."""
        return (fake_device(),)

    def test_there_are_devices_with_names_of_their_own(self) -> None:
        """At least one, no name twice."""
        names = [device.name for device in self.devices()]
        assert names, "no device"
        assert len(names) == len(set(names)), f"a name occurs twice: {sorted(names)}"

    def test_every_quantity_names_its_origin_and_the_device_its_date(self) -> None:
        """A number without a source cannot be checked, one without a date cannot age."""
        for device in self.devices():
            assert device.probed_at, f"{device.name}: no date"
            for quantity in quantities(device):
                assert quantity.origin.strip(), f"{device.name}: {quantity} without origin"
                assert quantity.value > 0, f"{device.name}: {quantity} is not positive"

    def test_units_fit_the_engines(self) -> None:
        """FLOP/s for multiply-adds, op/s for functions, B/s at a named level for memory, s for latency."""
        for device in self.devices():
            for ceiling in (*device.ceilings, *device.sparse):
                assert ceiling.rate.unit in fitting_units(ceiling), f"{device.name}: {ceiling.engine} in {ceiling.rate.unit}"
                assert (ceiling.level is None) == (ceiling.engine in ARITHMETIC_ENGINES), f"{device.name}: {ceiling.engine} at level {ceiling.level}"

    def test_the_roofline_can_be_drawn(self) -> None:
        """At least one arithmetic ceiling and one bandwidth."""
        for device in self.devices():
            engines = {ceiling.engine for ceiling in device.ceilings}
            assert engines & set(ARITHMETIC_ENGINES), f"{device.name}: no arithmetic ceiling"
            assert engines & set(MEMORY_MIXES), f"{device.name}: no bandwidth"

    def test_sparse_peaks_are_those_of_matrix_units_that_have_a_dense_one(self) -> None:
        """What reads `ceilings` must find the dense rate there, and never a sparse one by mistake."""
        for device in self.devices():
            dense = {ceiling.precision for ceiling in device.ceilings if ceiling.engine == "fma"}
            for ceiling in device.sparse:
                assert ceiling.engine == "fma", f"{device.name}: a sparse {ceiling.engine}"
                assert ceiling.precision in dense, f"{device.name}: {ceiling.precision} sparse without dense"

    def test_a_price_has_a_date(self) -> None:
        """Prices age fastest."""
        for device in self.devices():
            assert bool(device.price_date) == (device.price_per_hour is not None), f"{device.name}: a price without date, or a date without price"

    def test_what_does_not_fit_together_is_said(self) -> None:
        """Contradictions between sources stay, but none silently."""
        for device in self.devices():
            said = " ".join(device.notes)
            for doubt in doubts(device):
                assert doubt in said, f"{device.name}: nothing in the notes about {doubt}"

    def test_the_document_comes_back_unchanged(self) -> None:
        """A device survives being written and read."""
        for device in self.devices():
            assert decode(encode(device), Device) == device, device.name


def quantities(device: Device) -> tuple[Quantity, ...]:
    """Every quantity that a device carries."""
    single = (device.clock_hz, device.base_clock_hz, device.boost_clock_hz, device.power_w, device.least_cap_w, device.price_per_hour)
    return (
        *(ceiling.rate for ceiling in (*device.ceilings, *device.sparse)),
        *(port.bandwidth for port in device.ports),
        *(cost.seconds for cost in device.costs),
        *(quantity for quantity in single if quantity is not None),
    )


def fitting_units(ceiling: Ceiling) -> tuple[str, ...]:
    """The units in which a ceiling of that engine may be given; one addition an element is one operation as well as one FLOP."""
    if ceiling.engine == "add":
        return ("FLOP/s", "op/s")
    if ceiling.engine == "fma":
        return ("FLOP/s",)
    if ceiling.engine == "latency":
        return ("s",)
    return ("op/s",) if ceiling.engine in ARITHMETIC_ENGINES else ("B/s",)


def fake_device() -> Device:
    """A device with round numbers: 1 TFLOP/s in fp32, 100 GB/s, ridge point 10 FLOP/B, 1 MB of L2."""
    peak = Quantity.exact(1e12, "FLOP/s", source="assumed", origin="fake device")
    stream = Quantity.exact(1e11, "B/s", source="assumed", origin="fake device")
    memory = [Ceiling(engine=mix, precision="any", threads=0, rate=stream, level="DRAM", library="spec") for mix in MEMORY_MIXES]
    return Device(
        name="Fake device",
        kind="cpu",
        ceilings=(Ceiling(engine="fma", precision="fp32", threads=0, rate=peak, library="spec"), *memory),
        levels=(MemoryLevel(name="L2", capacity_bytes=10**6),),
        execution_units=1,
        probed_at="2026-01-01",
    )
