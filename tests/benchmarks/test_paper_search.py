"""The paper's searches: what their words stand for, and that a record says what happened."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from benchmarks.paper.experiments import CALIBRATED, EXPERIMENTS, RAW, repetitions
from benchmarks.paper.records import Repetition
from benchmarks.paper.refits import Refitted
from benchmarks.paper.search import Watching, pits, scores, search, start
from benchmarks.paper.setups import (
    ACQUISITIONS,
    CALIBRATION_SETS,
    DESIGNS,
    MODELS,
    RECALIBRATORS,
    Setup,
)
from benchmarks.paper.tasks import FUNCTIONS, remembered, table_task, task
from scipy.special import ndtr

from calibrant import Optimizer
from calibrant.core.cube import Design
from calibrant.recalibration import CalibrationSet
from calibrant.search.incumbent import drawn_best

pytestmark = pytest.mark.slow  # of a benchmark, not of the library

SMALL = Setup("forrester", initial=4, steps=6)
KEYS = {
    "problem", "method", "seed", "settings", "version", "commit", "seconds", "minimum",
    "initial", "outcomes", "forecasts",
}  # fmt: skip


def check_record(record, setup, seed):
    """All that holds of any record."""
    assert set(record) == KEYS
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert (record["problem"], record["seed"]) == (setup.task, seed)
    assert Setup(record["problem"], **record["settings"]) == setup
    assert record["minimum"] == pytest.approx(FUNCTIONS[setup.task].minimum, rel=1e-6)
    assert len(record["initial"]) == setup.initial
    assert len(record["outcomes"]) == setup.steps
    assert min(record["initial"] + record["outcomes"]) >= record["minimum"] - 1e-6
    assert set(record["forecasts"]) == {"raw", *(["calibrated"] if setup.calibrated else [])}
    for which, forecasts in record["forecasts"].items():
        more = {"std"} if which == "raw" else {"shift", "scale"}
        assert set(forecasts) == {"score", "crps"} | more
        assert all(len(values) == setup.steps for values in forecasts.values())
        assert all(isinstance(score, float) for score in forecasts["score"])


# The first points


@pytest.mark.parametrize("design", DESIGNS)
def test_methods_of_a_repetition_share_their_first_points(design):
    setup = Setup("forrester", initial=4, design=design)
    other = replace(setup, model="bagged", recalibrator="leader", acquisition="pi", steps=3)
    np.testing.assert_array_equal(start(setup, 5), start(other, 5))
    np.testing.assert_array_equal(start(setup, 5), start(setup, 5))
    assert start(setup, 5).shape == (4, 1)
    assert not np.isin(start(setup, 6), start(setup, 5)).any()


def test_first_points_are_others_for_other_tasks_and_designs():
    starts = [
        start(Setup(name, design=design), 0).tobytes()
        for name, design in product(("ackley", "cosines"), ("random", "latin"))
    ]
    assert len(set(starts)) == 4


def test_records_of_a_repetition_have_the_same_first_outcomes():
    raw = search(SMALL, 3)
    for other in (replace(SMALL, model="matern"), replace(SMALL, recalibrator="gaussian")):
        assert search(other, 3)["initial"] == raw["initial"]
    assert search(SMALL, 4)["initial"] != raw["initial"]


def test_first_points_that_miss_stay_out_of_the_valley():
    setup = Setup("forrester", initial=3, design="missed")
    points = np.array([start(setup, seed) for seed in range(200)])
    assert not np.any((points >= 0.6) & (points <= 0.9))
    assert points.min() < 0.1
    assert np.any(points > 0.9)
    assert 0.6 <= FUNCTIONS["forrester"].where[0] <= 0.9
    anywhere = np.array([start(replace(setup, design="random"), seed) for seed in range(200)])
    assert np.any((anywhere >= 0.6) & (anywhere <= 0.9))


def test_first_points_on_a_small_grid_differ(monkeypatch):
    grid = {"a": (1.0, 2.0), "b": (1.0, 2.0, 3.0)}
    small = table_task("small", grid, {key: sum(key) for key in product(*grid.values())})
    monkeypatch.setattr("benchmarks.paper.search.task", lambda name: small)
    for seed in range(20):
        points = start(Setup("small", initial=5), seed)
        assert len(np.unique(points, axis=0)) == 5


# Records


@pytest.mark.parametrize("recalibrator", ["none", "gaussian", "leader", "online"])
def test_a_record_says_what_happened(recalibrator):
    setup = replace(SMALL, recalibrator=recalibrator)
    check_record(search(setup, 0), setup, 0)


def test_a_record_is_the_same_again_but_for_its_time():
    setup = replace(SMALL, recalibrator="gaussian")
    one, other = search(setup, 1), search(setup, 1)
    assert one["seconds"] >= 0.0
    assert {**one, "seconds": 0} == {**other, "seconds": 0}
    assert search(setup, 2)["outcomes"] != one["outcomes"]


@pytest.mark.parametrize("acquisition", ["ei", "pi", "lcb-10%"])
def test_a_search_is_as_if_the_best_were_never_drawn(acquisition, monkeypatch):
    """The paper's improvement is one on the best value seen, also where its model sees noise."""
    setup = Setup("ackley", acquisition=acquisition, steps=8)
    drawn = []

    def noting(*args):
        drawn.append(drawn_best(*args))
        return drawn[-1]

    monkeypatch.setattr("calibrant.search.step.drawn_best", noting)
    with_draws = search(setup, 0)
    assert any(one is not None for one in drawn)  # or this would show nothing
    monkeypatch.setattr("calibrant.search.step.drawn_best", lambda *args: None)
    without = search(setup, 0)
    assert {**with_draws, "seconds": 0} == {**without, "seconds": 0}


@pytest.mark.parametrize("name", ACQUISITIONS)
def test_a_watched_acquisition_is_calibrated_as_if_it_were_not(name):
    assert Watching(ACQUISITIONS[name]).takes_shift == ACQUISITIONS[name].takes_shift


def replay(setup, seed):
    """The same search by hand: points, outcomes, and the model that had seen all before each."""
    problem = FUNCTIONS[setup.task]
    optimizer = Optimizer(
        problem.dim,
        model=MODELS[setup.model],
        recalibrator=RECALIBRATORS[setup.recalibrator],
        calibration_set=CALIBRATION_SETS[setup.calibration_set],
        acquisition=ACQUISITIONS[setup.acquisition],
        n_startup_trials=setup.initial,
        seed=seed,
    )
    x = list(start(setup, seed))
    y = [float(problem.on_cube(point)) for point in x]
    for point, outcome in zip(x, y, strict=True):
        optimizer.tell(point, outcome)
    fits = [MODELS[setup.model].fit(np.array(x), np.array(y))]
    for _ in range(setup.steps):
        x.append(optimizer.ask())
        y.append(float(problem.on_cube(x[-1])))
        optimizer.tell(x[-1], y[-1])
        fits.append(fits[-1].refit(np.array(x), np.array(y)))
    return x[setup.initial :], y[setup.initial :], fits[:-1], optimizer


@pytest.mark.parametrize("recalibrator", ["none", "gaussian"])
def test_a_record_is_of_the_search_that_an_optimizer_makes(recalibrator):
    setup = replace(SMALL, recalibrator=recalibrator)
    record = search(setup, 0)
    x, y, fits, optimizer = replay(setup, 0)
    np.testing.assert_allclose(record["outcomes"], y, rtol=1e-6)
    raw = record["forecasts"]["raw"]
    near = {"rtol": 1e-3, "atol": 1e-4}  # four digits are kept
    np.testing.assert_allclose(raw["score"], optimizer.outcomes.scores, **near)
    forecasts = [fitted.predict(point[None])[0] for fitted, point in zip(fits, x, strict=True)]
    mean, std = (np.array([getattr(f, part)() for f in forecasts]) for part in ("mean", "std"))
    np.testing.assert_allclose(raw["score"], (np.array(y) - mean) / std, **near)
    np.testing.assert_allclose(raw["std"], std, **near)


def test_crps_is_that_of_draws():
    record = search(SMALL, 0)
    x, y, fits, _ = replay(SMALL, 0)
    draws = np.random.default_rng(0).standard_normal((2, 40_000))
    for step in range(SMALL.steps):
        forecast = fits[step].predict(x[step][None])[0]
        one, other = forecast.mean() + forecast.std() * draws
        crps = np.abs(one - y[step]).mean() - 0.5 * np.abs(one - other).mean()
        close = 0.02 * float(forecast.std())
        np.testing.assert_allclose(record["forecasts"]["raw"]["crps"][step], crps, atol=close)


def test_calibrated_scores_are_raw_ones_moved_and_scaled():
    """By the moments of leave-one-out scores together with ten standard normal ones."""
    setup = replace(SMALL, recalibrator="gaussian", calibration_set="leave-one-out, no refits")
    record = search(setup, 0)
    _, _, fits, _ = replay(setup, 0)
    raw, calibrated = (scores(record, which) for which in ("raw", "calibrated"))
    for step, fitted in enumerate(fits):
        z = fitted.leave_one_out()[0]
        mean = z.sum() / (10 + z.size)
        std = np.sqrt((10 + (z**2).sum()) / (10 + z.size) - mean**2)
        np.testing.assert_allclose(calibrated[step], (raw[step] - mean) / std, rtol=2e-3, atol=2e-4)
    assert np.all(np.abs(raw - calibrated) > 1e-3)


def test_scores_and_pits_are_read_as_asked():
    record = search(replace(SMALL, recalibrator="gaussian"), 0)
    for which in ("raw", "calibrated"):
        np.testing.assert_array_equal(scores(record, which), record["forecasts"][which]["score"])
        np.testing.assert_allclose(
            pits(record, which), ndtr(record["forecasts"][which]["score"]), rtol=1e-12
        )
    plain = search(SMALL, 0)
    np.testing.assert_array_equal(scores(plain, "calibrated"), scores(plain, "raw"))


# Words


CASES = [
    *(Setup("forrester", model=model) for model in MODELS),
    *(Setup("forrester", recalibrator=recalibrator) for recalibrator in RECALIBRATORS),
    *(
        Setup("forrester", recalibrator="gaussian", calibration_set=calibration_set)
        for calibration_set in CALIBRATION_SETS
    ),
    *(Setup("forrester", acquisition=acquisition) for acquisition in ACQUISITIONS),
    *(Setup("forrester", design=design) for design in DESIGNS),
]


@pytest.mark.parametrize("setup", CASES, ids=lambda s: f"{s.method}, {s.design}")
def test_every_word_runs(setup):
    setup = replace(setup, initial=4, steps=2)
    check_record(search(setup, 0), setup, 0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_problem_runs(name):
    setup = Setup(name, initial=4, steps=1)
    check_record(search(setup, 0), setup, 0)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("model", MODELS),
        ("recalibrator", RECALIBRATORS),
        ("calibration_set", CALIBRATION_SETS),
        ("acquisition", ACQUISITIONS),
        ("design", [*Design, "missed"]),
    ],
)
def test_an_unknown_word_lists_the_known_ones(name, known):
    with pytest.raises(ValueError, match=f"`{name}` must be one of .*, but got 'magic'") as raised:
        Setup("forrester", **{name: "magic"})
    assert all(word in str(raised.value) for word in known)


@pytest.mark.parametrize("name", ["initial", "steps"])
def test_a_search_has_points(name):
    with pytest.raises(ValueError, match=f"`{name} > 0` must hold, but got {name}=0"):
        Setup("forrester", **{name: 0})


def test_an_unknown_task_lists_the_known_ones():
    with pytest.raises(ValueError, match="but got task='magic'") as raised:
        task("magic")
    known = (*FUNCTIONS, "lda-newsgroups", "lda-wikipedia", "cifar10", "svhn")
    assert all(name in str(raised.value) for name in known)


def test_methods_in_words():
    plain = Setup("forrester", acquisition="lcb")
    assert plain.method == "rbf, lcb"
    assert not plain.calibrated
    calibrated = replace(plain, recalibrator="gp", calibration_set="N-3")
    assert calibrated.method == "rbf, lcb, gp on N-3"
    assert calibrated.calibrated
    assert "task" not in calibrated.settings
    assert Setup("ackley", **calibrated.settings) == replace(calibrated, task="ackley")


def test_calibration_sets_are_what_they_are_called():
    for k in (1, 2, 3, 4):
        assert CALIBRATION_SETS[f"N-{k}"] == Refitted("time-series", first=k)
    assert CALIBRATION_SETS["leave-one-out"] == Refitted("leave-one-out")
    assert CALIBRATION_SETS["leave-one-out, no refits"] == CalibrationSet(in_doubt=0.0)


# Tasks


GRID = {"kappa": (0.5, 0.6, 1.0), "batch": (1.0, 64.0), "tau": (1.0, 4.0, 16.0, 64.0)}
TABLE = {key: 100.0 * key[0] + key[1] - np.log(key[2]) for key in product(*GRID.values())}


def test_a_table_is_looked_up():
    found = table_task("table", GRID, TABLE)
    assert found.cube.size == 24
    assert found.minimum == min(TABLE.values())
    points = found.cube.every_point()
    values = [found.evaluate(point, 0) for point in points]
    assert sorted(values) == sorted(TABLE.values())
    # The first axis varies least: points come in the order of the grid.
    np.testing.assert_array_equal(values, list(TABLE.values()))
    assert found.evaluate(np.array([0.5, 1.0, 2 / 3]), 7) == TABLE[0.6, 64.0, 16.0]


def test_values_of_a_table_are_spread_evenly():
    found = table_task("table", GRID, TABLE)
    for axis, values in zip(found.cube.axes, GRID.values(), strict=True):
        np.testing.assert_allclose(axis.values, np.linspace(0, 1, len(values)))
        assert not axis.categorical


def test_rows_of_a_table_may_come_in_any_order():
    backwards = dict(reversed(TABLE.items()))
    one, other = table_task("table", GRID, TABLE), table_task("table", GRID, backwards)
    for point in one.cube.every_point():
        assert one.evaluate(point, 0) == other.evaluate(point, 0)


def test_a_table_with_holes_says_so():
    with_holes = dict(list(TABLE.items())[:-2])
    with pytest.raises(ValueError, match="The table of lda must have 24 rows, not 22"):
        table_task("lda", GRID, with_holes)


def test_a_search_on_a_table_evaluates_no_setting_twice(monkeypatch):
    found = table_task("table", GRID, TABLE)
    monkeypatch.setattr("benchmarks.paper.search.task", lambda name: found)
    record = search(Setup("table", steps=19), 0)
    assert sorted(record["initial"] + record["outcomes"]) == pytest.approx(sorted(TABLE.values()))
    assert min(record["outcomes"]) == pytest.approx(record["minimum"])


def test_an_evaluation_is_made_once_for_a_point_and_a_seed(tmp_path):
    asked = []

    def evaluate(u, seed):
        asked.append((*u, seed))
        return 0.1 + u[0]

    points = [np.array([0.25]), np.array([0.25]), np.array([0.5])]
    for _ in range(2):  # the second is another process, say
        look_up = remembered(tmp_path / "known", evaluate)
        assert [look_up(u, seed) for u, seed in zip(points, (1, 2, 1), strict=True)] == [
            0.35, 0.35, 0.6,
        ]  # fmt: skip
    assert asked == [(0.25, 1), (0.25, 2), (0.5, 1)]


# Experiments


@pytest.fixture(params=EXPERIMENTS, ids=str)
def experiment(request):
    return EXPERIMENTS[request.param]


def test_every_block_compares_calibrated_with_uncalibrated_searches(experiment):
    for block in experiment.blocks:
        raw, calibrated = block.rows[RAW], block.rows[CALIBRATED]
        assert not raw.calibrated
        assert calibrated.calibrated
        # They differ in calibration alone.
        words = {"recalibrator": raw.recalibrator, "calibration_set": raw.calibration_set}
        assert replace(calibrated, **words) == raw


def test_searches_of_a_block_are_of_one_task_and_one_start(experiment):
    for block in experiment.blocks:
        starts = {(s.task, s.design, s.initial, s.steps) for s in block.rows.values()}
        assert len(starts) == 1
        assert block.task == starts.pop()[0]
        assert len(set(block.rows.values())) == len(block.rows)


def test_experiments_name_tasks_there_are(experiment):
    elsewhere = {"lda-newsgroups", "lda-newsgroups-live", "lda-wikipedia", "cifar10", "svhn"}
    assert {block.task for block in experiment.blocks} <= {*FUNCTIONS, *elsewhere}
    titles = [block.title for block in experiment.blocks]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_all_methods_of_a_repetition_come_together(name):
    per_seed = sum(len(block.rows) for block in EXPERIMENTS[name].blocks)
    listed = list(repetitions(name, 3))
    assert [one.seed for one in listed] == [seed for seed in range(3) for _ in range(per_seed)]
    for seed in range(3):
        part = listed[seed * per_seed : (seed + 1) * per_seed]
        wanted = [
            Repetition(setup, seed)
            for block in EXPERIMENTS[name].blocks
            for setup in block.rows.values()
        ]
        assert part == wanted


def test_the_number_of_repetitions_is_the_experiments_unless_given():
    assert {one.seed for one in repetitions("sixhump")} == set(range(100))
    assert {one.seed for one in repetitions("cifar10")} == set(range(20))
    assert list(repetitions("table1", 0)) == []
