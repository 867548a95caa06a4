"""A ferry leaves when the harbour office has worked out the tide; the captain watches the flag on the pier."""

import threading
from concurrent.futures import ThreadPoolExecutor

office = ThreadPoolExecutor(max_workers=1)
levels = [((number * 7919) % 1000) / 1000 for number in range(40_000)]


def work_out(flag, answer):
    tide = 0.0
    for step, level in enumerate(levels):
        tide = 0.98 * tide + level * (1 + step % 3)
    answer.append(tide)
    flag.set()


def watch(flag):
    while not flag.is_set():
        pass


def workload():
    flag, answer = threading.Event(), []
    office.submit(work_out, flag, answer)
    watch(flag)
    return answer[0]
