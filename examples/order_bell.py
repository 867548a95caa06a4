"""A kitchen hands each dish over the counter; the waiter looks whether something is there until it is."""

import queue
import threading
import time

counter: queue.Queue = queue.Queue()
orders: queue.Queue = queue.Queue()


def cook():
    while True:
        order = orders.get()
        dish = 0
        for turn in range(30_000):
            dish = (dish * 31 + turn + order) % 65_521
        counter.put(dish)


threading.Thread(target=cook, daemon=True).start()


def pick_up():
    while counter.empty():
        time.sleep(0)
    return counter.get()


def workload():
    orders.put(7)
    return pick_up()
