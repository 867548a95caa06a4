"""The parts of `predict`: devices by name or file, models read in a process of their own, trained models."""
