"""How long HolisticTraceAnalysis takes to load a trace: seconds of the clock and of the processor, and peak memory, as a line of JSON.

ENVIRONMENT_WITH_HTA/bin/python peer_hta.py TRACE
"""

import json
import logging
import re
import sys
import time
from pathlib import Path

from hta.trace_analysis import TraceAnalysis

logging.disable(logging.CRITICAL)
begin, used = time.perf_counter(), time.process_time()
analysis = TraceAnalysis(trace_files={0: sys.argv[1]})
found = {"wall_s": time.perf_counter() - begin, "cpu_s": time.process_time() - used, "events": len(analysis.t.get_trace(0))}
peak = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
print(json.dumps({**found, "peak_bytes": int(peak.group(1)) * 1024 if peak else 0}))
