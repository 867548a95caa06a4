"""The parts of `tune`: what a specification is and how it is read, and what becomes of a configuration of it."""
