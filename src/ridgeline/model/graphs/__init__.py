"""Whole graphs: which operator is of which family, what a runtime makes of a graph, and what the parts are together."""
