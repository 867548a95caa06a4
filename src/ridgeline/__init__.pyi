from .core import BenchReport as BenchReport
from .core import Comparison as Comparison
from .core import ComparisonSet as ComparisonSet
from .core import Device as Device
from .core import Diagnosis as Diagnosis
from .core import Facts as Facts
from .core import GateReport as GateReport
from .core import HistoryReport as HistoryReport
from .core import PredictionReport as PredictionReport
from .core import Quantity as Quantity
from .core import ReadReport as ReadReport
from .core import RidgelineError as RidgelineError
from .core import Run as Run
from .core import TuneReport as TuneReport
from .flows.bench import bench as bench
from .flows.compare import compare as compare
from .flows.diagnose import diagnose as diagnose
from .flows.doctor import doctor as doctor
from .flows.gate import gate as gate
from .flows.history import history as history
from .flows.predict import predict as predict
from .flows.probe import probe as probe
from .flows.read import read as read
from .flows.select import select as select
from .flows.tune import tune as tune
from .measurement.stages.stage import stage as stage

__all__ = [
    "BenchReport", "Comparison", "ComparisonSet", "Device", "Diagnosis", "Facts", "GateReport", "HistoryReport", "PredictionReport", "Quantity",
    "ReadReport", "RidgelineError", "Run", "TuneReport", "__version__", "bench", "compare", "diagnose", "doctor", "gate", "history", "predict",
    "probe", "read", "select", "stage", "tune",
]  # fmt: skip

__version__: str
