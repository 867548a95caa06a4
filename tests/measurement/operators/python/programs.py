"""Programs that must give the same result with their calls recorded as without: one text a trap, each with a `main()`."""

PROGRAMS = {
    "scopes": """
from functools import lru_cache, partial, reduce
total = 0
def outer():
    count = 0
    def inner(step=1 + 1):
        nonlocal count
        global total
        count += step
        total += count
        return count
    return [inner() for _ in range(3)], count
@lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def main():
    seen = []
    values = [y := 3, y ** 2, (lambda a, /, b=2, *c, d=4, **e: (a, b, c, d, e))(1, *[5, 6], **{"d": 7, "z": 8})]
    return outer(), total, fib(30), values, y, reduce(lambda a, b: a * b, range(1, 6)), partial(max, 3)(2), {k: v + 1 for k, v in zip("ab", [1, 2])}
""",
    "classes": """
import numpy as np
from dataclasses import dataclass, field
class Meta(type):
    def __call__(cls, *args): return super().__call__(*args)
class Base(metaclass=Meta):
    limit = 2 * 3
    table = [2 + i for i in range(limit)]
    def __init__(self, start): self.__value = start; self.total = 0; self.array = np.zeros(3)
    def step(self):
        self.total = 100
        return 1
    def run(self):
        self.total += self.step()
        self.__value += 1
        self.array[1:] += self.total
        return self.total, self.__value, self.array.tolist()
class _Odd(Base):
    def __init__(self):
        super().__init__(7)
        super(_Odd, self).__init__(8)
        self.__mine = 1
        self.__mine -= 2
    @property
    def mine(self): return self.__mine
    @classmethod
    def make(cls): return cls()
@dataclass(order=True)
class Point:
    x: list[int] = field(default_factory=list)
    y: "int" = 1 + 1
def main():
    odd = globals()["_Odd"].make()
    names = sorted(name for name in vars(odd))
    return odd.run(), odd.mine, names, Point([1]) < Point([2]), repr(Point()), Point.__annotations__["y"], Base.table
""",
    "generators": """
import asyncio
def echo(n):
    for i in range(n):
        got = yield i * 2
        if got is not None:
            yield from (got + j for j in range(2))
    return "end"
async def later(x):
    await asyncio.sleep(0)
    return x + 1
async def count(n):
    for i in range(n):
        yield i
async def gather():
    return [await later(i) async for i in count(3)], await asyncio.gather(later(5), later(6))
def main():
    g = echo(2)
    first, second = next(g), g.send(10)
    def whole():
        return (yield from echo(1))
    w = whole()
    next(w)
    try:
        next(w)
    except StopIteration as stop:
        value = stop.value
    return first, second, list(g), value, asyncio.run(gather())
""",
    "order": """
log = []
def note(x):
    log.append(x)
    return x
class Spy(dict):
    def __getitem__(self, key): log.append(("get", repr(key))); return dict.get(self, repr(key), 0)
    def __setitem__(self, key, value): log.append(("set", repr(key), value)); dict.__setitem__(self, repr(key), value)
def pick(): log.append("pick"); return spy
spy = Spy()
def main():
    pick()[note(1)] = note(2)
    pick()[note(3)] += note(4)
    pick()[note(5):note(6), note(7)]
    del log[0:0]
    note(note)(note(8), *[note(9)], k=note(10)) if False else max(note(8), *[note(9)], key=lambda v: -v)
    a = b = pick()
    a[1], b[2] = note(11), note(12)
    x = [3, 1]; y = x; y += [note(13)]
    t = (1,); u = t; u += (2,)
    return log[:], x, t, u, dict(spy)
""",
    "errors": """
def fails(kind):
    try:
        if kind == 0: return {}["no"]
        if kind == 1: return 1 / 0
        if kind == 2: return [][3]
        if kind == 3: return None + 1
        if kind == 4: return int("x")
        if kind == 5: return undefined_name(1)
        if kind == 6: return (lambda a: a)(1, 2)
        if kind == 7: return None.nothing()
        if kind == 8: x = (1,); x[0] += 1
        if kind == 9: next(iter([]))
        if kind == 10: assert len([]) > 0, f"nothing {1 + 1}"
        if kind == 11: len(5)
    except Exception as error:
        return type(error).__name__, str(error)
    finally:
        kind += 1
def deep(n): return 0 if n == 0 else 1 + deep(n - 1)
def main(): return [fails(kind) for kind in range(12)], deep(700)
""",
    "frames": """
from __future__ import annotations
import collections, enum, inspect, pickle, sys, typing, warnings, copy, types
Pair = collections.namedtuple("Pair", "a b")
Colour = enum.Enum("Colour", "RED BLUE")
T = typing.TypeVar("T")
Made = type("Made", (), {"x": 1})
class Typed(typing.NamedTuple):
    a: typing.List[int] = [1 + 1]
def who():
    here = 5
    return sorted(locals()), sys._getframe().f_code.co_name, inspect.currentframe().f_code.co_name, eval("here + 1")
def main():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("careful")
    names = [n for n in globals() if "ridge" in n.lower()] + [n for n in dir() if "ridge" in n.lower()]
    back = pickle.loads(pickle.dumps((Pair(1, 2), Colour.RED)))
    source = inspect.getsource(who).splitlines()[0] if False else "def who():"
    exec("made = 2 + 3", ns := {})
    return who(), Pair.__module__ == __name__, Made.__module__ == __name__, T.__module__ == __name__, names, back == (Pair(1, 2), Colour.RED), \\
        caught[0].filename == __file__, Typed.__annotations__, ns["made"], source
""",
    "match": """
import math
class P:
    __match_args__ = ("x", "y")
    def __init__(self, x, y): self.x, self.y = x, y
def which(v):
    match v:
        case -1: return "minus"
        case 1 + 2j: return "complex"
        case math.pi: return "pi"
        case [1, *rest] if len(rest) + 1 > 2: return rest
        case {"k": k, **others}: return k, others
        case P(x, y=0): return x + 1
        case str() | bytes() as text: return text * 2
        case _: return None
def main(): return [which(v) for v in (-1, 1 + 2j, math.pi, [1, 2, 3], {"k": 1, "z": 2}, P(4, 0), "ab", [1])]
""",
    "arrays": """
import numpy as np
from numpy import *
def main():
    a = np.arange(12.0).reshape(3, 4)
    b = a
    b += 1
    c = a[..., None, 1:3]
    c *= 2
    a[a > 10] = 0
    a[[0, 1], [1, 2]] -= 5
    a[1, 2] **= 2
    m = np.ma.masked_less(a, 3) + 1
    d = -a @ a.T // 3 % 5
    e = (a < 5) & ~(a == 0) | (a != 2)
    s = np.float32(3) * np.float64(2) + a.max()
    out = np.empty_like(a)
    r = np.add(a, 1, out=out)
    v = np.vectorize(lambda x: x + 1)(a)
    l = sorted(a[0], key=lambda x: -x) + list(map(float, a[1]))
    k = a[1:2, ::2].copy()
    k[:] = 7
    q = 2 ** a[0] - (1 / (a + 10)) >> 1 if False else 2 ** a[0]
    lists = [x.tolist() for x in (a, b, c, d, e, out, v, k, q, m.filled(-1))]
    return lists, r is out, float(s), l, f"{a.sum():.2f}{a.shape!r:>8}", divmod(a, 3)[0].tolist()
""",
    "compiled_elsewhere": """
import functools
def jit(f=None, **options):
    if f is None: return lambda g: jit(g, **options)
    assert not any("ridgeline" in name for name in f.__code__.co_names), f.__code__.co_names
    return functools.wraps(f)(lambda *a: f(*a))
@jit
def one(x): return x + 1
@jit(fast=True)
def two(x): return x[0] * 2
def three(x): return x - 1
fast = jit(three)
def main(): return one(1), two([3]), fast(5)
""",
    "threads": """
import threading, queue, concurrent.futures, multiprocessing
import numpy as np
def main():
    box = queue.Queue()
    thread = threading.Thread(target=lambda: box.put(np.ones(4) * 2))
    thread.start()
    got = box.get(timeout=5)
    thread.join()
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        sums = list(pool.map(lambda k: float((np.ones(10) * k).sum()), range(20)))
    lock = threading.Lock()
    with lock: inside = lock.locked()
    return got.tolist(), sums, inside, lock.locked()
""",
}
