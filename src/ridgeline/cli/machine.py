"""`ridgeline probe`, `doctor` and `devices`: this machine and others."""

from __future__ import annotations

import click
import msgspec

from ridgeline.core import Device, UsageError
from ridgeline.reporting import device_page, devices_page, doctor_page, probe_page

from .options import colour_option, json_option, quiet_option
from .output import emit_document, emit_page
from .progress import progress

__all__ = ["devices", "doctor", "probe"]


class CatalogueDocument(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.devices/1"):
    """The JSON of `ridgeline devices`."""

    devices: tuple[Device, ...]


@click.command()
@click.option("--quick", is_flag=True, help="A rougher probe in a quarter of the time.")
@click.option("--force", is_flag=True, help="Measure again although there is a probe of this machine.")
@quiet_option
@json_option
@colour_option
def probe(quick: bool, force: bool, quiet: bool, as_json: bool, no_colour: bool) -> int:
    """Measure what this machine can do; the result is kept until the machine changes."""
    from ridgeline.flows.probe import probe as flow

    with progress(quiet) as report:
        device = flow(quick=quick, refresh=force, report=report)
    emit_document(device) if as_json else emit_page(probe_page(device), no_colour=no_colour)
    return 0


@click.command()
@click.option("--notebook", metavar="PATH|URL", help="The notebook whose place is checked.")
@json_option
@colour_option
def doctor(notebook: str | None, as_json: bool, no_colour: bool) -> int:
    """Say what can and cannot be measured on this machine, why, and how to enable it."""
    from ridgeline.flows.doctor import doctor as flow

    report = flow(notebook=notebook)
    emit_document(report) if as_json else emit_page(doctor_page(report), no_colour=no_colour)
    return 0


@click.command()
@click.argument("name", required=False)
@click.option("--kind", type=click.Choice(["cpu", "gpu", "npu"]), help="Only devices of this kind.")
@click.option("--vendor", metavar="NAME", help="Only devices of this maker, such as NVIDIA.")
@json_option
@colour_option
def devices(name: str | None, kind: str | None, vendor: str | None, as_json: bool, no_colour: bool) -> int:
    """List the catalogue of devices, or show the one called NAME with the source of every number.

    Nearly all are known by specification only: bounds that no kernel passes, not what kernels reach.
    """
    from ridgeline.device import find, select

    if name is not None:
        if kind is not None or vendor is not None:
            raise UsageError("a name, or --kind and --vendor", found="both", remedy="leave one out")
        device = find(name)
        emit_document(device) if as_json else emit_page(device_page(device), no_colour=no_colour)
        return 0
    known = select(kind, vendor)
    emit_document(CatalogueDocument(devices=known)) if as_json else emit_page(devices_page(known), no_colour=no_colour)
    return 0
