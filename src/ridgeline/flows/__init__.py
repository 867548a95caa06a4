"""One module a verb: joins measuring with deciding and writes Runs. This is the public API."""
