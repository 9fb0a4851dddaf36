"""Run the stream benchmark; results are JSON lines, one per run, and none is run twice.

    python -m benchmarks.streams.run [coverage] [delays] [real] [throughput]

To share the work among processes, METHODS="calibrant online" or METHODS="crepes,MAPIE ACI" picks
some of the methods.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
from scipy.special import ndtr

import calibrant
from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit
from benchmarks.streams import delays
from benchmarks.streams.methods import LEVELS, METHODS, RAW
from benchmarks.streams.streams import STREAMS
from calibrant.core.normal import EDGE_SCORE

RESULTS = Path(__file__).parent / "results"
RATES = (0.01, 0.05, 0.2, 1.0)
STEPS = 20_000
# MAPIE needs about 10 ms an outcome with 49 intervals, and more with time: it gets 5,000 of them.
SHORT = {"MAPIE ACI": 5_000}
WITHOUT_RATE = {"crepes"}
REPETITIONS = {"calibrant online": 30, "MAPIE ACI": 1}  # 5 for the others


def main() -> None:
    parts = {
        "coverage": run_coverage,
        "delays": run_delays,
        "real": run_real,
        "throughput": run_throughput,
    }
    for part in sys.argv[1:] or parts:
        parts[part]()


def run_coverage() -> None:
    tasks = [
        {"method": method, "stream": stream, "rate": rate, "seed": seed}
        for method in os.environ.get("METHODS", ",".join(METHODS)).split(",")
        for stream in STREAMS
        for rate in (RATES if method not in WITHOUT_RATE else (None,))
        for seed in range(REPETITIONS.get(method, 5))
        if method != "MAPIE ACI" or rate == 0.05
    ]
    for task in unfinished("coverage.jsonl", tasks):
        steps = SHORT.get(task["method"], STEPS)
        keep("coverage.jsonl", task | referee(task, steps))


def referee(task: dict, steps: int) -> dict:
    """Play a stream against a method, count hits on what was played, and keep the worst of all."""
    method = METHODS[task["method"]](task["rate"])
    stream = STREAMS[task["stream"]]
    rng = np.random.default_rng(task["seed"])
    hits, worst, crossings, loss = np.zeros(LEVELS.size), 0.0, 0, 0.0
    start = time.process_time()
    for t in range(steps):
        played = method.play()
        crossings += bool(np.any(played[1:] < played[:-1]))
        z = stream(played, hits - t * LEVELS, LEVELS, t, steps, rng)
        hits += z <= played
        worst = max(worst, float(np.abs(hits - (t + 1) * LEVELS).max()))
        error = z - np.clip(played, -EDGE_SCORE, EDGE_SCORE)
        loss += float(np.where(error >= 0, LEVELS * error, (LEVELS - 1) * error).mean())
        method.see(z)
    surplus = np.abs(hits - steps * LEVELS).max()
    return {
        "steps": steps,
        "surplus_at_end": round(float(surplus), 6),
        "surplus_at_any_time": round(worst, 6),
        "crossing_steps": crossings,
        "twice_mean_pinball": round(2 * loss / steps, 6),
        "cpu_seconds": round(time.process_time() - start, 3),
        "version": calibrant.__version__,
    }


def run_delays() -> None:
    for task in unfinished("delays.jsonl", delays.tasks()):
        keep("delays.jsonl", task | delays.referee(task))


def run_real() -> None:
    from benchmarks.streams.real import STREAMS as REAL
    from benchmarks.streams.real import recalibrators

    tasks = [{"stream": name, "recalibrator": kind} for name in REAL for kind in recalibrators()]
    for task in unfinished("real.jsonl", tasks):
        forecast, y = REAL[task["stream"]]()
        result = calibrant.replay(forecast, y, recalibrators()[task["recalibrator"]])
        infinite = np.isinf(np.stack(result.interval(0.8))).any(axis=0).mean()
        keep(
            "real.jsonl",
            task
            | {
                "outcomes": y.size,
                "raw": result.summary()["raw"],
                "calibrated": result.summary()["calibrated"],
                "infinite_80": round(float(infinite), 4),
                "crps_raw": np.round(result.raw_crps, 6).tolist(),
                "crps_calibrated": np.round(result.crps, 6).tolist(),
                "version": calibrant.__version__,
            },
        )


def run_throughput() -> None:
    tasks = [
        {"method": method, "levels": k, "past": past}
        for method in ("calibrant online: update(u)", "calibrant online: observe(forecast, y)")
        for k in (9, 99, 999)
        for past in (0, 1_000, 100_000)
    ]
    tasks += [
        {"method": "calibrant leader", "levels": None, "past": p} for p in (0, 1_000, 100_000)
    ]
    tasks += [{"method": "ACI per level", "levels": 99, "past": p} for p in (0, 1_000, 100_000)]
    tasks += [{"method": "crepes", "levels": 99, "past": p} for p in (1_000, 100_000)]
    tasks += [{"method": "MAPIE ACI", "levels": 99, "past": p} for p in (0, 1_000)]
    for task in unfinished("throughput.jsonl", tasks):
        keep("throughput.jsonl", task | measure(task))


def measure(task: dict) -> dict:
    rng = np.random.default_rng(0)
    past = rng.standard_normal(task["past"])
    update = _updater(task, past)
    batch = {"MAPIE ACI": 10, "crepes": 20}.get(task["method"], 500)
    rates = []
    for _ in range(7):
        fresh = rng.standard_normal(batch)
        start = time.process_time()
        for z in fresh:
            update(z)
        rates.append(batch / (time.process_time() - start))
    return {"updates_per_cpu_second": round(float(np.median(rates)), 1)}


def _updater(task: dict, past: np.ndarray):
    """Return a function that feeds one outcome and leaves the next forecast ready to be read."""
    match task["method"]:
        case "calibrant online: update(u)" | "calibrant online: observe(forecast, y)" as name:
            state = [calibrant.OnlineRecalibrator(task["levels"]).update_scores(past)]

            def update(z):
                r = state[0]
                state[0] = r.update(float(ndtr(z))) if "update" in name else r.observe(RAW, z)
                return state[0].played

            return update
        case "calibrant leader":
            state = [calibrant.LeaderRecalibrator().update_scores(past)]

            def update(z):
                state[0] = state[0].update_scores([z])
                return state[0].residual

            return update
        case "crepes":
            from crepes import ConformalPredictiveSystem

            history = list(past)

            def refit(z):
                history.append(z)
                ConformalPredictiveSystem().fit(np.array(history)).predict_percentiles(
                    np.zeros(1), higher_percentiles=(100 * LEVELS).tolist()
                )

            return refit
        case name:
            method = METHODS[name](0.01)
            if name == "ACI per level":
                method.past = np.concatenate([[-np.inf], np.sort(past), [np.inf]])
            else:  # MAPIE takes no more at once than it was fitted to
                for chunk in np.array_split(past, max(1, past.size // 100)):
                    if chunk.size:
                        method.model.update(np.zeros((chunk.size, 1)), chunk)
            return lambda z: (method.see(z), method.play())


def unfinished(name: str, tasks: list[dict]):
    done = list(read_lines(RESULTS / name))
    for number, task in enumerate(tasks, start=1):
        if not any(task.items() <= result.items() for result in done):
            print(f"[{number}/{len(tasks)}] {task}", flush=True)
            yield task


def keep(name: str, result: dict) -> None:
    append(RESULTS / name, result | {"commit": commit()})


if __name__ == "__main__":
    main()
