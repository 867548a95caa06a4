"""What tuners write: cache files of Kernel Tuner and results in the T4 format to `RecordedSpace`, problems in the T1 format to `KernelProblem`.

Formats: the docstrings of `kernel_tuner.util`, and the schemas T1 and T4 of version 1.0.0 that Kernel Tuner 1.5.0 brings
(github.com/odgaard/TuningSchema).
"""

from .reading import kind_of_file, read_problem, read_recorded_space
from .value_lists import values_of

__all__ = ["kind_of_file", "read_problem", "read_recorded_space", "values_of"]
