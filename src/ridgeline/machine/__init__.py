"""The host and its processes: what this machine is, the state of its clocks, and workers that run functions under limits."""

from typing import TYPE_CHECKING

from ridgeline.core.face import lazy_names

# Not late: a function of the same name as its module.
from .last_words import LIBRARIES, last_words, missing_in, shortened

if TYPE_CHECKING:
    from .child import in_worker
    from .clock import ClockWatch, Watched, read_clock
    from .ending import ProcessEnded, cpu_limit_reached, signal_name
    from .energy import EnergyCounter, Nvml, Rapl
    from .files import cache_directory, write_atomic, written_whole
    from .host import read_machine
    from .missing import missing_extra
    from .one_worker import OneWorker
    from .processes import process_tree, thread_ids
    from .resident import PeakMemory, most_resident_of
    from .scratch import scratch_folder
    from .several_workers import Workers
    from .software import commit_of, origin_of, software_versions
    from .worker import Limits, Worker

_HOMES = {
    "child": "in_worker",
    "clock": "ClockWatch Watched read_clock",
    "ending": "ProcessEnded cpu_limit_reached signal_name",
    "energy": "EnergyCounter Nvml Rapl",
    "files": "cache_directory write_atomic written_whole",
    "host": "read_machine",
    "missing": "missing_extra",
    "one_worker": "OneWorker",
    "processes": "process_tree thread_ids",
    "resident": "PeakMemory most_resident_of",
    "scratch": "scratch_folder",
    "several_workers": "Workers",
    "software": "commit_of origin_of software_versions",
    "worker": "Limits Worker",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)

__all__ = [
    "LIBRARIES", "ClockWatch", "EnergyCounter", "Limits", "Nvml", "OneWorker", "PeakMemory", "ProcessEnded", "Rapl", "Watched", "Worker", "Workers",
    "cache_directory", "commit_of", "cpu_limit_reached", "in_worker", "last_words", "missing_extra", "missing_in", "most_resident_of", "origin_of",
    "process_tree", "read_clock", "read_machine", "scratch_folder", "shortened", "signal_name", "software_versions", "thread_ids", "write_atomic",
    "written_whole",
]  # fmt: skip
