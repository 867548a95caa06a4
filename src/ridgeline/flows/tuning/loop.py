"""The loop of a tuning: a search is asked, an executor measures, the record keeps, the search is told; then the finals. Knows no kernel and no
device.

Between the trials one that was good is run again now and then, and where it is not as it was, others unlike it: where the device has changed its
speed, what is tried afterwards is brought back to the speed it had, and what was tried in between is run again. An interrupt ends a stage where it
stands; everything that ended until then is recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ridgeline.backends import Attempt
from ridgeline.core import Trial
from ridgeline.core.executor import Executor, Outcome, Piece
from ridgeline.core.space import Value
from ridgeline.core.units import format_quantity
from ridgeline.tuning.finals import Finals, Standing
from ridgeline.tuning.search import Strategy
from ridgeline.tuning.search.several import Several

from .budget import Budget, Stopped
from .known import FINAL, FRONT, LOOK, Known
from .objectives import vector_of
from .record import Record
from .several import LEAST_RUNS, front_keys, known_vectors
from .subjects import Subject, key_of, trial_of

__all__ = ["LEAST_PAIRS", "Builders", "Loop"]

Report = Callable[[str, float | None], None]
Config = dict[str, Value]
#: Trials between two looks at the device; looks one after the other until it is believed that it has changed.
_EVERY, _MOST_LOOKS = 16, 5
#: Rounds of the finals in which the default runs as well, so that it is held against the best in the same minutes.
_DEFAULT_ROUNDS = 9
#: Runs of the best and the default in the finals: fewer have no interval at 95 %.
LEAST_PAIRS = 6
#: Runs that the finals of a small space may take: nearly all of it may be likely to be the best.
_LEAST_FINALS = 90
#: Runs that the front may take for each configuration that ran, and at least; and the part of the time that is over before the finals begin.
_FRONT_RUNS, _LEAST_FRONT, _FRONT_PART = 0.6, 60, 0.9


class Builders(NamedTuple):
    """Who compiles beforehand, and how many at once."""

    executor: Executor
    at_once: int


class Wanted(NamedTuple):
    """A configuration to be run, and the flags of its trial."""

    config: Config
    flags: tuple[str, ...] = ()


class Loop:
    """One tuning.

    Args:
        subject: what is tuned; strategy: that is asked; record: open, with the trials of earlier sessions.
        executor: that measures; budget: trials and time; say: progress; builders: null where nothing is compiled beforehand; seed: of the finals.

    Attributes:
        known: of all that was tried.
        stopped: why the search is over; interrupt: what ended it, if something did.
    """

    def __init__(
        self, subject: Subject, strategy: Strategy | Several, record: Record, executor: Executor, budget: Budget, say: Report, *,
        builders: Builders | None = None, seed: int = 0,
    ) -> None:  # fmt: skip
        self.subject, self.strategy, self.record, self.budget = subject, strategy, record, budget
        self._executor, self._builders, self._say, self._seed = executor, builders, say, seed
        self.known = Known(record.trials)
        self.stopped: Stopped = "trials"
        self.interrupt: KeyboardInterrupt | None = None
        #: Keys of what was tried, is being tried, or is compiled to be tried.
        self._taken = set(self.known.configs)
        self._queue: list[Config] = []
        self._again: list[Config] = []
        self._number = max((trial.number for trial in record.trials), default=-1) + 1
        self._now = self._since = self._moves = 0
        #: Keys: of what the device is being looked at with, and of what was the best when it was looked at.
        self._looked_at: list[str] = []
        self._good = ""
        self._tell_earlier()

    def _tell_earlier(self) -> None:
        if isinstance(self.strategy, Several):
            told = known_vectors(self.known, self.subject.objectives)
            if told:
                self.strategy.tell(
                    np.array([self.subject.configurations.row(trial.config) for trial, _ in told]), np.array([each for _, each in told])
                )
            return
        pairs = [(key, value) for key, values in self.known.values.items() for value in values]
        if pairs:
            space = self.subject.configurations
            self.strategy.tell(np.array([space.row(self.known.configs[key]) for key, _ in pairs]), np.array([value for _, value in pairs]))

    # ---- the search ----------------------------------------------------------------------------------------------------------------

    def search(self) -> None:
        """Until trials, time or configurations are at their end, or a person interrupts."""
        self._go(self._searched())

    def _searched(self) -> Iterator[Wanted]:
        default = self.subject.default
        if default is not None and key_of(default) not in self._taken:
            yield Wanted(default)
        while True:
            look = self._look()
            if look is not None:
                yield Wanted(look, (LOOK,))
            elif self._again:
                yield Wanted(self._again.pop(0))
            else:
                reason = self.budget.searched(len(self._taken) - len(self._queue))
                config = None if reason else self._next()
                if config is None:
                    self.stopped = reason or "space"
                    return
                yield Wanted(config)

    def _next(self) -> Config | None:
        """The next configuration of the search; null when nothing is left."""
        while not self._queue:
            builders, wanted = self._builders, 1
            if builders is not None:
                left = math.inf if self.budget.trials is None else self.budget.trials - len(self._taken)
                wanted = max(1, int(min(2 * builders.at_once, left)))
            rows = self.strategy.ask(wanted)
            if not len(rows):
                return None
            configs = [self.subject.configurations.config(row) for row in rows]
            self._taken.update(key_of(config) for config in configs)
            self._queue = configs if builders is None else self._built(builders.executor, configs)
            if self.budget.searched(len(self._taken) - len(self._queue)) and not self._queue:
                return None
        return self._queue.pop(0)

    def _built(self, builders: Executor, configs: Sequence[Config]) -> list[Config]:
        """Those that compile; the others are recorded."""
        pairs = [(config, piece) for config in configs if (piece := self.subject.build(config)) is not None]
        failed = set()
        for outcome in builders.run([piece for _, piece in pairs], Attempt):
            config = pairs[outcome.number][0]
            trial = self._trial(self._number, Wanted(config), outcome)
            if trial.failure is not None:
                failed.add(key_of(config))
                self._take(trial)
        return [config for config in configs if key_of(config) not in failed]

    def _look(self) -> Config | None:
        """The configuration to look at the device with, if it is time; what a move has made doubtful is noted to be run again."""
        level = self.known.level
        if self._moves != level.moves:
            self._moves = level.moves
            self._again += self.known.doubtful
        regular = self._since >= _EVERY
        if not regular and not (level.odd and len(self._looked_at) < _MOST_LOOKS):
            return None
        if regular or not level.odd:
            self._since, self._looked_at = 0, []
        serve = [key for key in self.known.running() if level.serves(key) and key not in self._looked_at]
        if not serve:
            return None
        # The best as of the look before: a device that has become faster since makes the best since then look well.
        key = self._good if self._good in serve and not self._looked_at else self._unlike(serve)
        if not self._looked_at and self.known.best is not None:
            self._good = key_of(self.known.best[0])
        self._looked_at.append(key)
        return self.known.configs[key]

    def _unlike(self, keys: Sequence[str]) -> str:
        """Of the better half the one that shares the fewest values with those that were looked at; the best where there were none."""
        medians = self.known.medians
        better = sorted(keys, key=lambda key: medians[key])[: max(1, (len(keys) + 1) // 2)]
        seen = [self.known.configs[key] for key in self._looked_at]
        return max(better, key=lambda key: min((_different(self.known.configs[key], other) for other in seen), default=0))

    # ---- the front, with several objectives ----------------------------------------------------------------------------------------

    def front(self, part: float = _FRONT_PART) -> None:
        """What is on the front run again until each has runs enough, or the part of the time is over."""
        left = max(_LEAST_FRONT, math.ceil(_FRONT_RUNS * len(self.known.configs)))
        while left > 0 and self.interrupt is None and not self.budget.past(part):
            runs = front_keys(self.known, self.subject.objectives)
            few = [self.known.configs[key] for key, many in runs.items() if many < LEAST_RUNS][:left]
            if not few:
                return
            left -= len(few)
            self._say(f"front: {len(few)} of {len(runs)} configurations again", None)
            self._go(Wanted(config, (FRONT,)) for config in few)

    # ---- the finals ----------------------------------------------------------------------------------------------------------------

    def finals(self) -> tuple[Standing, list[Config]]:
        """The likely best run again; where the race stands at the end, and the configurations by its numbers."""
        keys = self.known.running()
        configs, places = [self.known.configs[key] for key in keys], {key: place for place, key in enumerate(keys)}
        most = max(_LEAST_FINALS, math.ceil(1.8 * len(keys)))
        finals, rounds = Finals([self.known.values[key] for key in keys], most_runs=most, seed=self._seed), 0
        default = self.subject.default if self.subject.default in configs else None
        while self.interrupt is None and not self._raced(default) and (asked := finals.ask()):
            rounds += 1
            self._say(f"finals: round {rounds} of the likely best, {len(asked)} configurations", None)
            wanted = [configs[number] for number in asked]
            beside = [default] if default is not None and default not in wanted and rounds <= _DEFAULT_ROUNDS else []
            first = len(self.known.trials)
            # A round may take longer than what is left.
            self._go(Wanted(config, (FINAL,)) for config in (*beside, *wanted) if not self._raced(default))
            # Of a round that was cut short, what ran.
            done = [(places[key_of(trial.config)], trial) for trial in self.known.trials[first:]]
            values = {number: math.nan if trial.objective is None else trial.objective.value for number, trial in done if number in asked}
            finals.tell(list(values), [value / math.exp(self.known.level.now) for value in values.values()])
        standing = finals.standing()
        if default is not None and standing.best >= 0:
            self._hold_against(default, configs[standing.best])
        return standing, configs

    def _raced(self, default: Config | None) -> bool:
        return self.budget.over if default is None else self.budget.raced

    def _hold_against(self, default: Config, best: Config) -> None:
        """Run the best and the default one after the other until both have run often enough to say which is better: what a person asks first."""
        if default == best:
            return
        ran = [sum(FINAL in trial.flags and trial.config == config for trial in self.known.trials) for config in (default, best)]
        self._say("finals: the best beside the default", None)
        pairs = max(0, LEAST_PAIRS - min(ran))
        self._go(Wanted(config, (FINAL,)) for _ in range(pairs) for config in (default, best) if self.interrupt is None and not self.budget.over)

    # ---- running -------------------------------------------------------------------------------------------------------------------

    def _go(self, wanted: Iterable[Wanted]) -> None:
        """Measure what is wanted, as long as more is wanted."""
        waiting: list[tuple[int, Wanted]] = []

        def pieces() -> Iterator[Piece]:
            for each in wanted:
                self._taken.add(key_of(each.config))
                found = self.subject.piece(each.config, None if each.flags else self._best_now())
                if isinstance(found, Attempt):
                    self._take(self._trial(self._number, each, found))
                else:
                    waiting.append((self._number, each))
                    self._number += 1
                    yield found

        try:
            for outcome in self._executor.run(pieces(), Attempt):
                number, each = waiting[outcome.number]
                self._take(self._trial(number, each, outcome))
        except KeyboardInterrupt as interrupt:
            self.interrupt, self.stopped = interrupt, "interrupted"

    def _trial(self, number: int, wanted: Wanted, found: Attempt | Outcome[Attempt]) -> Trial:
        return trial_of(number, wanted.config, found, self.subject.unit, wanted.flags, self.subject.objectives)

    def _best_now(self) -> float | None:
        """What the best would take at the speed that the device has now."""
        return None if self.known.best is None else self.known.best[1] * math.exp(self.known.level.now)

    def _take(self, trial: Trial) -> None:
        """Record it, tell the search, tell the person."""
        self.record.add(trial)
        self._number = max(self._number, trial.number + 1)
        value = self.known.add(trial)
        if {FINAL, FRONT} & set(trial.flags):
            return
        self._now, self._since = self._now + 1, self._since + (LOOK not in trial.flags)
        row = self.subject.configurations.row(trial.config)[None]
        if isinstance(self.strategy, Several):
            self.strategy.tell(row, np.array([vector_of(trial, value, self.subject.objectives)]))
        else:
            self.strategy.tell(row, np.array([value]))
        tried = len(self._taken) - len(self._queue)
        part, left_s = self.budget.progress(tried, self._now)
        best = self.known.best
        lowest = "none ran yet" if best is None else f"best {format_quantity(best[1], self.subject.unit)}"
        limit = f" of {self.budget.trials}" if self.budget.trials is not None else ""
        left = "" if left_s is None else f", {format_quantity(left_s, 's')} left"
        self._say(f"tuning: {tried}{limit} configurations, {lowest}{left}", part)


def _different(some: Config, other: Config) -> int:
    """How many parameters differ."""
    return sum(some.get(name) != other.get(name) for name in some.keys() | other.keys())
