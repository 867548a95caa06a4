"""Instruments: the harness, operator profiles, the wall split, sentinels, sampled stacks, the probe."""
