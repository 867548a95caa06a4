"""Spaces made by Kernel Tuner and pyATF: for each request on stdin, a line of JSON with the number of valid configurations and the CPU seconds.

    ENVIRONMENT_WITH_THE_PEERS/bin/python peer_construction.py < REQUESTS

A request: {"tool", "parameters": name → values, "constraints": texts, "seconds", "bytes"}, the last two limits of CPU time and of memory. Kernel
Tuner takes the texts as they are (without the limit on threads that it adds by itself); pyATF takes each as a function at the last of its
parameters in the order given, and makes its chain of trees without access by number.
"""

import ast
import gc
import importlib
import importlib.metadata
import json
import os
import resource
import signal
import sys
import time


def kernel_tuner(parameters: dict, constraints: list) -> int:
    from kernel_tuner.searchspace import Searchspace

    return Searchspace(parameters, list(constraints), 1 << 30, block_size_names=[]).size


def pyatf(parameters: dict, constraints: list) -> int:
    from pyatf import TP, Set
    from pyatf.search_space import SearchSpace

    last: dict = {}
    for text in constraints:
        names = {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)}
        last.setdefault(max(names, key=list(parameters).index), []).append((text, names))
    found = []
    for name, values in parameters.items():
        made = None
        if name in last:
            asked = sorted({each for _, names in last[name] for each in names} | {name})
            # The peer reads names of arguments: a function is the only form that it takes.
            made = eval(f"lambda {', '.join(asked)}: {' and '.join(f'({text})' for text, _ in last[name])}")
        found.append(TP(name, Set(*values), made))
    return SearchSpace(*found, verbosity=0).constrained_size


TOOLS = {"kernel_tuner": kernel_tuner, "pyatf": pyatf}


def late(*_: object) -> None:
    raise TimeoutError


def answered(request: dict) -> dict:
    resource.setrlimit(resource.RLIMIT_AS, (request["bytes"], resource.getrlimit(resource.RLIMIT_AS)[1]))
    gc.collect()
    signal.setitimer(signal.ITIMER_PROF, request["seconds"])
    # Of the thread: CPU time of the process is in steps of milliseconds while a timer of it runs.
    begin = time.thread_time()
    try:
        count, error = TOOLS[request["tool"]](request["parameters"], request["constraints"]), ""
    except TimeoutError:
        count, error = -1, f"not made in {request['seconds']:g} CPU seconds"
    except MemoryError:
        count, error = -1, f"not made in {request['bytes'] / 2**30:g} GiB"
    except Exception as found:
        count, error = -1, f"{type(found).__name__}: {found}"[:200]
    finally:
        seconds = time.thread_time() - begin
        signal.setitimer(signal.ITIMER_PROF, 0)
    return {"count": int(count), "cpu_s": seconds, "error": error}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    signal.signal(signal.SIGPROF, late)
    absent, versions = {}, {}
    for tool in TOOLS:
        try:
            importlib.import_module({"kernel_tuner": "kernel_tuner.searchspace", "pyatf": "pyatf.search_space"}[tool])
            versions[tool] = importlib.metadata.version(tool)
        except Exception as error:
            absent[tool] = f"{type(error).__name__}: {error}"[:200]
    print(json.dumps({"absent": absent, "versions": versions}), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(answered(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
