"""Statistics as pure functions, every formula with its source."""
