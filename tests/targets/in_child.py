"""What a test does with a target inside a worker."""

from __future__ import annotations

import sys
from typing import Any

from ridgeline.targets import TargetSpec, prepare


def describe(spec: TargetSpec) -> dict[str, Any]:
    target = prepare(spec)
    target.call()
    return {
        "kind": target.info.kind,
        "environment": target.info.environment,
        "first": target.first_s,
        "argv": sys.argv,
        "main_is_target": sys.modules["__main__"].__dict__.get("work") is not None,
        "allocator": target.info.allocator,
    }
