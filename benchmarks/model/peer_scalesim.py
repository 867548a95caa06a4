"""SCALE-Sim's cycles for the cases on stdin (a JSON list), as a JSON list on the last line of stdout.

ENVIRONMENT_WITH_SCALESIM/bin/python peer_scalesim.py < CASES
"""

import contextlib
import io
import json
import sys
import tempfile
import time
from pathlib import Path

from scalesim.layout_utils import layouts
from scalesim.scale_config import scale_config
from scalesim.single_layer_sim import single_layer_sim
from scalesim.topology_utils import topologies

CONFIG = """[general]
run_name = case
[architecture_presets]
ArrayHeight: {rows}
ArrayWidth: {columns}
IfmapSramSzkB: {kib}
FilterSramSzkB: {kib}
OfmapSramSzkB: {kib}
IfmapOffset: 0
FilterOffset: 10000000
OfmapOffset: 20000000
Dataflow : {flow}
Bandwidth : {rate}
ReadRequestBuffer: 32
WriteRequestBuffer: 32
[layout]
IfmapCustomLayout: False
IfmapSRAMBankBandwidth: {rate}
IfmapSRAMBankNum: 1
IfmapSRAMBankPort: 2
FilterCustomLayout: False
FilterSRAMBankBandwidth: {rate}
FilterSRAMBankNum: 1
FilterSRAMBankPort: 2
[sparsity]
SparsitySupport : false
SparseRep : ellpack_block
OptimizedMapping : false
BlockSize : 8
RandomNumberGeneratorSeed : 40
[run_presets]
InterfaceBandwidth: {mode}
UseRamulatorTrace: False
"""


def run(case: dict) -> dict:
    product = "gemm" in case
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        known = {"kib": 64, "rate": 10, "mode": "USER" if "rate" in case else "CALC"}
        (folder / "config").write_text(
            CONFIG.format(**{**known, **{key: case[key] for key in case if key in ("rows", "columns", "flow", "kib", "rate")}})
        )
        head = "Layer,M,N,K," if product else "Layer name,IFMAP Height,IFMAP Width,Filter Height,Filter Width,Channels,Num Filter,Strides,"
        (folder / "shape").write_text(f"{head}\ncase,{','.join(map(str, case['gemm' if product else 'convolution']))},\n")
        # A layout is read though none is used.
        (folder / "layout").write_text("Layer name" + ",x" * 30 + "\ncase" + ",1" * 40 + ",\n")
        config, shape, layout = scale_config(), topologies(), layouts()
        config.read_conf_file(str(folder / "config"))
        shape.load_arrays(topofile=str(folder / "shape"), mnk_inputs=product)
        layout.load_arrays(layoutfile=str(folder / "layout"), mnk_inputs=product)
        simulator = single_layer_sim()
        simulator.set_params(layer_id=0, config_obj=config, topology_obj=shape, layout_obj=layout, verbose=False)
        begin = time.perf_counter()
        simulator.run()
        seconds = time.perf_counter() - begin
    overall, cycles, stalls, *_ = simulator.get_compute_report_items()
    return {"cycles": int(cycles), "overall": int(overall), "stalls": int(stalls), "seconds": seconds}


cases = json.load(sys.stdin)
with contextlib.redirect_stdout(io.StringIO()):
    found = [run(case) for case in cases]
print(json.dumps(found))
