"""Optuna with several objectives on a made space of a JSON file: a line of JSON for each run.

    ENVIRONMENT_WITH_OPTUNA/bin/python peer_several.py SPACE.json

Each parameter is a categorical choice among the places of its values. A combination that the space does not hold is told as failed and does not
count; neither does one that was asked for before, which is told again.
"""

import json
import sys
import time

import optuna

#: Proposals beyond which a run is ended, as a multiple of the evaluations.
PATIENCE = 20


def run(method, sampler, space, seed):
    study = optuna.create_study(directions=["minimize"] * len(space["values"][0]), sampler=sampler(seed))
    number = {tuple(row): place for place, row in enumerate(space["rows"])}
    tried, before = {}, time.process_time()
    for _ in range(PATIENCE * space["evaluations"]):
        trial = study.ask()
        row = tuple(trial.suggest_categorical(str(place), list(range(size))) for place, size in enumerate(space["sizes"]))
        if row not in number:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
            continue
        study.tell(trial, space["values"][number[row]])
        tried[number[row]] = None
        if len(tried) == space["evaluations"]:
            break
    spent = time.process_time() - before
    print(json.dumps({"method": method, "seed": seed, "numbers": list(tried), "cpu_ms": 1e3 * spent / max(1, len(tried))}), flush=True)


def main():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with open(sys.argv[1]) as file:
        space = json.load(file)
    samplers = {
        f"Optuna {optuna.__version__} NSGA-II": lambda seed: optuna.samplers.NSGAIISampler(population_size=20, seed=seed),
        f"Optuna {optuna.__version__} TPE": lambda seed: optuna.samplers.TPESampler(seed=seed, multivariate=True),
    }
    for seed in range(space["seeds"]):
        for method, sampler in samplers.items():
            run(method, sampler, space, seed)


if __name__ == "__main__":
    main()
