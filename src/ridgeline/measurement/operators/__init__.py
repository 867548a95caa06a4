"""Operator profiles: one room a framework, each giving a `ridgeline.core.OpTable`."""
