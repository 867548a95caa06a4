"""The host: what it is, what it allows, and the child processes that measure on it."""
