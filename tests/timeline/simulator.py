"""A discrete-event simulator of threads, queues, events and synchronisations, which knows the critical path of what it ran.

It steps through time with a heap and knows nothing of graphs: each activity remembers what let it begin (`cause`) and whether anything else
came at that very moment (then the path is not unique). What a recorder would have seen comes out as a `Timeline`.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ridgeline.core import Timeline, Track

from .building import stream, timeline_of

Action = tuple[object, ...]


@dataclass(eq=False)
class Activity:
    """A stretch of time on one lane: what begins it, and what it is."""

    lane: Track
    name: str
    start: int
    end: int = -1
    cause: Activity | None = None
    unique: bool = True
    #: Time between the cause's end and the start, such as a launch latency; its name on the path.
    before: str = ""


@dataclass(eq=False)
class Item:
    """A kernel or a marker in a queue."""

    kind: str
    name: str
    duration: int
    call: int
    eligible: int
    launch: Activity
    needs: Item | None = None
    event: int = -1
    done: Activity | None = None
    waiters: list[Callable[[Activity], None]] = field(default_factory=list)


class Simulation:
    """Threads that run programs; `latency` is from the end of a launch until its work may begin, `depth` how much a queue holds."""

    def __init__(self, programs: Sequence[Sequence[Action]], *, latency: int = 3, depth: int = 10**6, markers: bool = False) -> None:
        self.now, self.heap, self.count = 0, [], 0
        self.latency, self.depth, self.markers = latency, depth, markers
        self.rows: list[list[object]] = []
        self.links: list[tuple[int, int, str]] = []
        self.queues: dict[int, Queue] = {}
        self.recorded: dict[object, Item | None] = {}
        self.posts: dict[object, tuple[Activity, int]] = {}
        self.waiting: dict[object, list[Callable[[], None]]] = {}
        self.activities: list[Activity] = []
        lanes = [Track(name=f"thread {number}", role="thread", process="1", thread=str(number)) for number in range(len(programs))]
        threads = [Thread(self, lane, program) for lane, program in zip(lanes, programs, strict=True)]
        for thread in threads:
            thread.step()
        while self.heap:
            self.now, _, callback = heapq.heappop(self.heap)
            callback()
        # Of threads that wait for ever the recorder saw what had ended, and closes what was around it.
        for thread in threads:
            for event in thread.open:
                self.rows[event][4] = thread.ended

    def at(self, tick: int, callback: Callable[[], None]) -> None:
        self.count += 1
        heapq.heappush(self.heap, (tick, self.count, callback))

    def event(self, lane: Track, kind: str, name: str, start: int) -> int:
        self.rows.append([lane, kind, name, start, -1])
        return len(self.rows) - 1

    def queue(self, number: int) -> Queue:
        return self.queues.setdefault(number, Queue(self, stream(number)))

    def timeline(self, *, without: tuple[str, ...] = ()) -> Timeline:
        """What a recorder saw: events that ended."""
        ended = [at for at, row in enumerate(self.rows) if row[4] != -1]
        place = {at: number for number, at in enumerate(ended)}
        links = [(place[a], place[b], kind) for a, b, kind in self.links if a in place and b in place and kind not in without]
        return timeline_of([tuple(self.rows[at]) for at in ended], links)  # type: ignore[misc]

    def makespan(self) -> int:
        return max((activity.end for activity in self.activities), default=0)

    def path(self) -> tuple[list[tuple[int, int, str, str]], bool]:
        """(start, end, lane, name) of the pieces from the start, joined; and whether there is no other path."""
        last = [activity for activity in self.activities if activity.end == self.makespan()]
        found, unique, at = [], len(last) == 1, last[0] if last else None
        while at is not None:
            found.append((at.start, at.end, at.lane.name, at.name))
            unique &= at.unique
            came = at.cause.end if at.cause is not None else 0
            if at.start > came:
                found.append((came, at.start, at.lane.name, at.before))
            at = at.cause
        return joined(found[::-1]), unique


def joined(pieces: Sequence[tuple[int, int, str, str]]) -> list[tuple[int, int, str, str]]:
    """Pieces with a length, neighbours of one lane and name made one."""
    out: list[tuple[int, int, str, str]] = []
    for start, end, lane, name in pieces:
        if end == start:
            continue
        if out and out[-1][2:] == (lane, name) and out[-1][1] == start:
            out[-1] = (out[-1][0], end, lane, name)
        else:
            out.append((start, end, lane, name))
    return out


class Queue:
    """Work in order, one after the other."""

    def __init__(self, simulation: Simulation, lane: Track) -> None:
        self.sim, self.lane = simulation, lane
        self.items: deque[Item] = deque()
        self.last: Item | None = None
        self.running = False
        self.free: deque[Callable[[Activity], None]] = deque()
        self.previous: Activity | None = None
        self.ordered: list[tuple[Item, int]] = []

    def put(self, item: Item) -> None:
        self.items.append(item)
        self.last = item
        self.sim.at(item.eligible, self.go)

    def go(self, *_: object) -> None:
        if self.running or not self.items or self.items[0].eligible > self.sim.now:
            return
        item = self.items[0]
        if item.kind == "marker":
            self.mark(item)
            return
        if item.needs is not None and item.needs.done is None:
            item.needs.waiters.append(self.go)
            return
        self.start(item)

    def mark(self, item: Item) -> None:
        """A marker that is a lane's own event: it begins like work and ends when what it waits for has."""
        self.running = True
        activity = self.begin(item, None)
        needs = item.needs
        item.event = self.sim.event(self.lane, "sync", item.name, self.sim.now)
        self.sim.links.append((item.call, item.event, "launch"))
        if needs is None or needs.done is not None:
            if needs is not None:
                self.sim.links.append((needs.event, item.event, "wait"))
                activity.unique &= needs.done is None or needs.done.end < self.sim.now
            self.finish(item, activity)
            return

        def on_done(cause: Activity) -> None:
            self.sim.links.append((needs.event, item.event, "wait"))
            waited = Activity(self.lane, item.name, self.sim.now, cause=cause, unique=self.sim.now > activity.start)
            self.finish(item, waited)

        needs.waiters.append(on_done)

    def begin(self, item: Item, needed: Activity | None) -> Activity:
        """The activity of an item that starts now, with what let it."""
        moments: list[tuple[int, Activity, str]] = [(item.eligible, item.launch, item.name)]
        moments += [(other.end, other, "") for other in (self.previous, needed) if other is not None]
        latest = max(moment[0] for moment in moments)
        assert latest == self.sim.now
        causes = [moment for moment in moments if moment[0] == latest]
        return Activity(self.lane, item.name, self.sim.now, cause=causes[0][1], unique=len(causes) == 1, before=causes[0][2])

    def start(self, item: Item) -> None:
        self.running = True
        activity = self.begin(item, item.needs.done if item.needs else None)
        item.event = self.sim.event(self.lane, item.kind, item.name, self.sim.now)
        self.sim.links.append((item.call, item.event, "launch"))
        if item.needs is not None:
            self.sim.links.append((item.needs.event, item.event, "signal"))
        self.sim.at(self.sim.now + item.duration, lambda: self.finish(item, activity))

    def finish(self, item: Item, activity: Activity) -> None:
        activity.end = self.sim.now
        self.sim.rows[item.event][4] = self.sim.now
        self.sim.activities.append(activity)
        item.done, self.previous, self.running = activity, activity, False
        self.items.popleft()
        for waiter in item.waiters:
            waiter(activity)
        if self.free and len(self.items) < self.sim.depth:
            self.free.popleft()(activity)
        self.go()


class Thread:
    """Runs a program, action by action."""

    def __init__(self, simulation: Simulation, lane: Track, program: Sequence[Action]) -> None:
        self.sim, self.lane, self.program = simulation, lane, list(program)
        self.position = 0
        self.cause: Activity | None = None
        self.unique = True
        self.ended = 0
        self.open: list[int] = []
        self.pending: list[int] = []

    def step(self) -> None:
        if self.position < len(self.program):
            action = self.program[self.position]
            self.position += 1
            getattr(self, str(action[0]))(*action[1:])

    def begin(self, kind: str, name: str) -> int:
        event = self.sim.event(self.lane, kind, name, self.sim.now)
        self.sim.links += [(source, event, "signal") for source in self.pending]
        self.pending = []
        return event

    def spend(self, name: str, duration: int, then: Callable[[Activity], None]) -> None:
        activity = Activity(self.lane, name, self.sim.now, cause=self.cause, unique=self.unique)
        self.unique = True

        def done() -> None:
            activity.end = self.sim.now
            self.sim.activities.append(activity)
            self.cause, self.ended = activity, self.sim.now
            then(activity)

        self.sim.at(self.sim.now + duration, done)

    def close(self, event: int) -> None:
        self.sim.rows[event][4] = self.sim.now
        self.step()

    # Actions

    def work(self, name: str, duration: int) -> None:
        event = self.begin("operator", name)
        self.spend(name, duration, lambda _: self.close(event))

    def enter(self, name: str, duration: int) -> None:
        """An event with something in it; its own time comes first."""
        self.open.append(self.begin("operator", name))
        self.spend(name, duration, lambda _: self.step())

    def leave(self) -> None:
        if self.open:
            self.sim.rows[self.open.pop()][4] = self.sim.now
        self.step()

    def launch(self, number: int, name: str, duration: int, call: int, needs: object = None, kind: str = "compute") -> None:
        queue = self.sim.queue(number)
        event = self.begin("runtime", f"launch {name}")
        started = self.sim.now

        def enqueue(activity: Activity) -> None:
            needed = self.sim.recorded.get(needs)
            item = Item(kind, name, duration, event, self.sim.now + self.sim.latency, activity, needed)
            if self.sim.markers and needed is not None:
                queue.put(Item("marker", f"wait {name}", 0, event, item.eligible, activity, needed))
                item.needs = None
            queue.put(item)
            self.close(event)

        def room(freed: Activity) -> None:
            self.sim.links.append((next(at for at, row in enumerate(self.sim.rows) if row[0] is freed.lane and row[4] == freed.end), event, "wait"))
            self.cause, self.unique = freed, self.sim.now > started
            self.spend(f"launch {name}", call, enqueue)

        if len(queue.items) >= self.sim.depth:
            queue.free.append(room)
        else:
            self.spend(f"launch {name}", call, enqueue)

    def record(self, number: int, key: object, call: int) -> None:
        event = self.begin("runtime", f"record {key}")

        def recorded(_: Activity) -> None:
            self.sim.recorded[key] = self.sim.queue(number).last
            self.close(event)

        self.spend(f"record {key}", call, recorded)

    def synchronise(self, number: int, cost: int) -> None:
        self._wait_for(self.sim.queue(number).last, f"synchronise {number}", cost)

    def await_event(self, key: object, cost: int) -> None:
        self._wait_for(self.sim.recorded.get(key), f"await {key}", cost)

    def _wait_for(self, item: Item | None, name: str, cost: int) -> None:
        event = self.begin("runtime" if item is None else "wait", name)
        if item is None or item.done is not None:
            if item is not None:
                self.sim.links.append((item.event, event, "wait"))
                self.unique &= item.done is None or item.done.end < self.sim.now
            self.spend(name, cost, lambda _: self.close(event))
            return
        started = self.sim.now

        def on_done(cause: Activity) -> None:
            self.sim.links.append((item.event, event, "wait"))
            self.cause, self.unique = cause, self.sim.now > started
            self.spend(name, cost, lambda _: self.close(event))

        item.waiters.append(on_done)

    def post(self, key: object, duration: int) -> None:
        event = self.begin("operator", f"post {key}")

        def posted(activity: Activity) -> None:
            self.sim.posts.setdefault(key, (activity, event))
            for resume in self.sim.waiting.pop(key, []):
                self.sim.at(self.sim.now, resume)
            self.close(event)

        self.spend(f"post {key}", duration, posted)

    def receive(self, key: object) -> None:
        """Idle until somebody posts; what comes next needs it."""
        started = self.sim.now

        def resume() -> None:
            activity, event = self.sim.posts[key]
            if activity.end > started:
                self.cause, self.unique = activity, True
            elif activity.end == started:
                self.unique = False
            self.pending.append(event)
            self.step()

        if key in self.sim.posts:
            resume()
        else:
            self.sim.waiting.setdefault(key, []).append(resume)


def random_programs(seed: int, *, most: int = 14, private: bool = False) -> list[list[Action]]:
    """Programs of one to three threads. Private ones share no queue and no event, so that only posts order the threads."""
    draw = random.Random(seed)
    out: list[list[Action]] = []
    for thread in range(draw.randint(1, 3)):
        prefix = f"{thread} " if private else ""
        queues = [3 * thread + number if private else number for number in range(3)]
        received = [f"p{other}{number}" for other in range(3) for number in range(2)]
        posts = [f"p{thread}{number}" for number in range(2)] if private else received
        keys = [f"{prefix}e1", f"{prefix}e2"]
        out.append([_random_action(draw, queues, keys, posts, received) for _ in range(draw.randint(1, most))])
    return out


def _random_action(draw: random.Random, queues: list[int], keys: list[str], posts: list[str], received: list[str]) -> Action:
    name, queue, key, ticks = draw.choice("abcdef"), draw.choice(queues), draw.choice(keys), draw.randint(0, 9)
    kind = draw.choice(["compute", "communication", "copy"])
    actions: dict[str, Action] = {
        "work": ("work", name, ticks),
        "enter": ("enter", name, ticks),
        "leave": ("leave",),
        "launch": ("launch", queue, name, draw.randint(0, 40), ticks),
        "dependent": ("launch", queue, name, draw.randint(1, 40), ticks, key, kind),
        "record": ("record", queue, key, ticks),
        "synchronise": ("synchronise", queue, ticks),
        "await_event": ("await_event", key, ticks),
        "post": ("post", draw.choice(posts), ticks),
        "receive": ("receive", draw.choice(received)),
    }
    return actions[draw.choice([*actions, "launch", "launch", "dependent", "record", "work"])]
