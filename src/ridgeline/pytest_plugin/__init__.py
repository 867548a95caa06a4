"""The pytest plugin: the fixture and the marker `ridgeline`, off until `--ridgeline` is given.

`plugin` is what pytest loads at every start, so that it imports nothing but pytest; the rest is loaded when something is timed.
"""
