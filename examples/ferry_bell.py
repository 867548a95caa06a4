"""A ferry leaves when the harbour office has worked out the tide; the captain sleeps until the bell rings."""

import threading
from concurrent.futures import ThreadPoolExecutor

office = ThreadPoolExecutor(max_workers=1)
levels = [((number * 7919) % 1000) / 1000 for number in range(40_000)]


def work_out(bell, answer):
    tide = 0.0
    for step, level in enumerate(levels):
        tide = 0.98 * tide + level * (1 + step % 3)
    answer.append(tide)
    bell.set()


def sleep_until(bell):
    bell.wait()


def workload():
    bell, answer = threading.Event(), []
    office.submit(work_out, bell, answer)
    sleep_until(bell)
    return answer[0]
