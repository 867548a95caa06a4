"""When the work behind a result is done: libraries whose results are waited for, and the clocks of their devices."""

from typing import TYPE_CHECKING

from ridgeline.core.face import lazy_names

if TYPE_CHECKING:
    from .base import Synchroniser, Wait
    from .choosing import Synchronisation, adapter_for, synchronisation_of, unfinished
    from .timer import DeviceTimer

_HOMES = {
    "base": "Synchroniser Wait",
    "choosing": "Synchronisation adapter_for synchronisation_of unfinished",
    "timer": "DeviceTimer",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)

__all__ = ["DeviceTimer", "Synchronisation", "Synchroniser", "Wait", "adapter_for", "synchronisation_of", "unfinished"]
