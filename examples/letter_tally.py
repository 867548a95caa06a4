"""A library tallies the letters of its books: four workers each read a page and add to the tally of all."""

import threading
from concurrent.futures import ThreadPoolExecutor

pool = ThreadPoolExecutor(max_workers=4)
tally_lock = threading.Lock()
pages = [("the quick brown fox jumps over the lazy dog " * 1200)[number:] for number in range(4)]
tally = {}


def read(page):
    with tally_lock:
        for letter in page:
            if letter != " ":
                tally[letter] = tally.get(letter, 0) + 1


def workload():
    tally.clear()
    for _ in pool.map(read, pages):
        pass
    return len(tally)
