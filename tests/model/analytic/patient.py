"""Settings for properties on a busy machine: what is slow there is no failure."""

from hypothesis import HealthCheck, settings

__all__ = ["patient"]

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
