"""The steps of `flows.compare`: what A and B are, checking revisions out, measuring interleaved, finding the cause, holding promises."""
