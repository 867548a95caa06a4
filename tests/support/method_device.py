"""The method's illustrative device, in SI units: everything that the text still states about it."""

CORES = 4
CLOCK_HZ = 2.0e9
CORE_PEAK = 32e9  # FLOP/s, fp32
PEAK = 128e9
THEORETICAL = 17.1e9  # B/s
STREAM = 13e9  # all cores
CORE_STREAM = 6e9  # one thread
FRAME_30 = 1 / 30
