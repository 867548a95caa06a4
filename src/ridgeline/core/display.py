"""What a result shows of itself in a notebook. Drawing is the business of floors above: this only asks the plugin that does it."""

from __future__ import annotations

from .errors import PluginError

__all__ = ["shown_inline"]


def shown_inline(noun: object) -> str | None:
    """The HTML fragment of a noun; `None` where no plugin `ridgeline.displays:html` is installed, so that its plain form is shown."""
    from .plugins import load  # importlib.metadata costs more than the rest of this package together

    try:
        found = load("displays", "html")(noun)
    except PluginError:
        return None
    return found if isinstance(found, str) else None
