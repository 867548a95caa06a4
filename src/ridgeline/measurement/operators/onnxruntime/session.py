"""One profiled session: made, warmed up, run, and its profile and optimised model read back.

This module decides how the instrument is switched on; what is measured (model, inputs, options, providers) comes from the target.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ridgeline.core import BackendUnavailable, TargetFailed
from ridgeline.machine import scratch_folder
from ridgeline.readers.onnxruntime import Profile, read_profile

__all__ = ["WARM_UP", "Taken", "take"]

#: Runs before the ones that count: the first allocates, the second still plans memory, the third is like the rest.
WARM_UP = 3


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What one profiled session gave.

    Args:
        profile: all its events.
        optimised: the model that ran (`onnx.ModelProto` without large weights), `None` if it could not be saved.
        walls_s: an independent timer around each counted run, seconds.
        iterations: counted runs, the last ones of the profile.
    """

    profile: Profile
    optimised: Any
    walls_s: tuple[float, ...]
    iterations: int


def take(
    model: str | Path | bytes, feeds: Mapping[str, Any], options: Callable[[], Any], providers: Sequence[str], iterations: int, warm_up: int = WARM_UP
) -> Taken:
    """Run a model under onnxruntime's profiler.

    Raises:
        TargetFailed: the session cannot be made or a run fails.
        BackendUnavailable: onnxruntime is missing.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise BackendUnavailable("onnxruntime, to run the model", found="not installed", remedy="pip install 'ridgeline[onnx]'") from error
    with scratch_folder("onnx") as folder:
        settings = _profiled(options(), folder)
        try:
            session = onnxruntime.InferenceSession(model if isinstance(model, bytes) else str(model), settings, providers=list(providers))
            walls = _run(session, feeds, warm_up, iterations)
            written = session.end_profiling()
        except Exception as error:  # onnxruntime raises its own classes, which derive from Exception only
            raise TargetFailed("a model that runs under the profiler", found=str(error)[:300], remedy="run it without the profiler first") from error
        del session
        profile = read_profile(Path(written).read_bytes())
        return Taken(profile=profile, optimised=_optimised(folder / "optimised.onnx"), walls_s=tuple(walls), iterations=iterations)


def _profiled(settings: Any, folder: Path) -> Any:
    settings.enable_profiling = True
    settings.profile_file_prefix = str(folder / "profile")
    settings.optimized_model_filepath = str(folder / "optimised.onnx")
    # Saving a model that holds hardware-specific kernels warns; here it is read back at once and never run elsewhere.
    settings.log_severity_level = 3
    # Weights go beside the model, so that one of more than 2 GiB can be saved at all.
    settings.add_session_config_entry("session.optimized_model_external_initializers_file_name", "optimised.weights")
    settings.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "8192")
    return settings


def _run(session: Any, feeds: Mapping[str, Any], warm_up: int, iterations: int) -> list[float]:
    walls = []
    for index in range(warm_up + iterations):
        before = time.perf_counter()
        session.run(None, feeds)
        after = time.perf_counter()
        if index >= warm_up:
            walls.append(after - before)
    return walls


def _optimised(path: Path) -> Any:
    import onnx

    try:
        return onnx.load_model(path, load_external_data=False)
    except Exception:  # not saved, or not readable: rows then carry what the profile alone tells
        return None
