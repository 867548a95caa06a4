"""The rules: one module a family of causes. Each is an entry point in group `ridgeline.rules`."""
