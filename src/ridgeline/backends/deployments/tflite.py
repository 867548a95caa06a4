"""Deployments of LiteRT's interpreter: threads, and the XNNPACK delegate with its flags.

Needs ai-edge-litert (extra `tflite`). Source: `ai_edge_litert.interpreter.Interpreter`, arguments `num_threads`, `experimental_op_resolver_type`,
`experimental_disable_delegate_clustering`, `experimental_default_delegate_latest_features`, `experimental_disable_delegate_node_fusion`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ridgeline.core import NotComparable, Parameter
from ridgeline.core.space import Value
from ridgeline.targets import Prepared
from ridgeline.targets.changes import REORDERED, Applied, Change, Situation
from ridgeline.targets.tflite import TfliteFlavour, caller

from .base import Deployment
from .space import Setting, switch, threads_of

__all__ = ["Tflite"]

_DELEGATE = "XNNPACK"
_FLAGS = {
    "no_clustering": "experimental_disable_delegate_clustering",
    "latest_features": "experimental_default_delegate_latest_features",
    "no_node_fusion": "experimental_disable_delegate_node_fusion",
}


class Tflite(Deployment):
    """A model in LiteRT's interpreter."""

    name = "tflite"
    package, extra = "ai_edge_litert", "tflite"
    names = ("threads", "delegate", *_FLAGS)
    kinds = ("tflite",)
    covers = {"one-thread": "threads", "all-threads": "threads"}

    def settings(self, situation: Situation) -> Sequence[Setting]:
        """Threads; the delegate and its flags where it takes a part of this model."""
        found = [Setting(threads_of(situation), situation.info.threads, "num_threads", REORDERED)]
        if _DELEGATE not in situation.info.providers:
            return found
        without = "experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES where it is false"
        delegate = Parameter(name="delegate", values=(True, False), kind="categorical")
        flags = [Setting(switch(name, when="delegate"), False, f"{argument}=True", REORDERED) for name, argument in _FLAGS.items()]
        return [*found, Setting(delegate, True, without, REORDERED), *flags]

    def apply(self, prepared: Prepared, changes: Sequence[Change], values: Mapping[str, Value]) -> Applied:
        """An interpreter with all of it; where nothing but threads is set, the one that was prepared.

        Raises:
            NotComparable: another kind of target.
        """
        flavour = prepared.flavour
        if not isinstance(flavour, TfliteFlavour):
            raise NotComparable("a model that LiteRT runs", found=f"a {prepared.info.kind} target", remedy="give it a model.tflite")
        flags = {argument: True for name, argument in _FLAGS.items() if values.get(name)}
        delegate = bool(values.get("delegate", True))
        if flags or not delegate:
            prepared = msgspec.structs.replace(prepared, call=caller(flavour.make(flavour.threads, delegate, **flags), flavour.feeds))
        return super().apply(prepared, changes, values)
