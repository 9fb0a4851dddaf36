"""The paper's tables and figures: which searches each is made of, and how often each is run.

The plan, by the time of one core (a search that experiments share counts once, where it is first):

==============  ====================  ===========  ============
experiment      seconds a repetition  repetitions  core-minutes
==============  ====================  ===========  ============
table1          27                    100          44
table2          23                    100          38
sensitivity     37                    100          61
sixhump         7.0                   100          12
conformal       4.5                   100          8
annealed        6.1                   100          10
alpine100       6.9                   100          12
lda             16                    100          26
theorem1        6.5                   100          11
where           33                    100          56
==============  ====================  ===========  ============

A search of 25 steps takes 0.17 s uncalibrated, 0.7 s with leave-one-out refits, 1.3 s with a
Gaussian process as recalibrator, and one of 50 steps on LDA's tables 4 s. Networks take a GPU:
2,200 s of it for 20 repetitions of both data sets, more than half of which on SVHN.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from benchmarks.paper.records import Repetition
from benchmarks.paper.setups import Setup

RAW, CALIBRATED = "uncalibrated", "calibrated"
LITERAL = "Algorithms 3 + 4"  # with more words after it: a variant, not to the letter
_ON_SERIES, _NO_REFITS = f"{LITERAL}, on the row's splits", f"{LITERAL}, without refits"
ISOTONIC, ISOTONIC_LITERAL = "isotonic (Algorithm 1)", "isotonic, k/N"
OURS = "as in calibrant"


@dataclass(frozen=True)
class Block:
    """Searches that are compared: same task, same first points.

    Args:
        title: what they have in common.
        rows: by label; ``RAW`` and ``CALIBRATED`` are among them.
        printed: where the paper's numbers for the block are, as keys of its tables.
    """

    title: str
    rows: dict[str, Setup]
    printed: tuple[str, ...] = ()

    @property
    def task(self) -> str:
        """What is minimised."""
        return next(iter(self.rows.values())).task


@dataclass(frozen=True)
class Experiment:
    """One table or figure.

    Args:
        title: what it shows.
        blocks: its parts.
        repetitions: how many there are of each search, unless a user says otherwise.
        pooled: whether blocks are put together, so that each needs the same repetitions.
    """

    title: str
    blocks: tuple[Block, ...]
    repetitions: int = 100
    pooled: bool = False


def _pair(setup: Setup, recalibrator: str = "gaussian", literal: str = LITERAL) -> dict[str, Setup]:
    """Return the search uncalibrated, calibrated, and by the paper's algorithms.

    ``literal`` is what the last is called, where it is not to the letter.
    """
    return {
        RAW: setup,
        literal: replace(setup, recalibrator="online"),
        CALIBRATED: replace(setup, recalibrator=recalibrator),
    }


def _variants(setup: Setup, literal: str = LITERAL) -> dict[str, Setup]:
    """Return more ways to calibrate the same model: the paper's Algorithm 1, and our default."""
    return {
        **_pair(setup, literal=literal),
        ISOTONIC: replace(setup, recalibrator="isotonic"),
        OURS: _ours(setup),
    }


def _ours(setup: Setup) -> Setup:
    return replace(setup, recalibrator="calibrant", calibration_set="calibrant")


def _baselines(setup: Setup) -> dict[str, Setup]:
    models = {
        "input warping": "input-warping",
        "output warping": "output-warping",
        "Box-Cox": "box-cox",
        "log": "log",
        "bagged ensemble of 5": "bagged",
    }
    counted = {ISOTONIC_LITERAL: replace(setup, recalibrator="isotonic-k/N")}
    others = {label: replace(setup, model=model) for label, model in models.items()}
    return {**_variants(setup), **counted, **others}


FIGURE_START = Setup("forrester", acquisition="lcb-10%", initial=3, design="missed")
FORRESTER = Setup("forrester", acquisition="lcb")
ACKLEY, ALPINE, COSINES = Setup("ackley"), Setup("alpine"), Setup("cosines")

TABLE_1 = Experiment(
    "Calibrated Bayesian optimisation against baselines",
    (
        Block(
            "Forrester, bound at the 10 % quantile, from 3 points that miss the minimum",
            _baselines(FIGURE_START),
            ("forrester",),
        ),
        Block(
            "Forrester, mean − 2 std (GPyOpt's default), from 5 random points",
            _baselines(FORRESTER),
            ("forrester",),
        ),
        Block("Ackley 2-D, EI", _baselines(ACKLEY), ("ackley_2d",)),
        Block("Cosines, EI", _baselines(COSINES), ("cosines",)),
        Block("Alpine 10-D, EI", _baselines(ALPINE), ("alpine_10d",)),
    ),
)


# The base row of the sensitivity study (Matérn, N − 1 splits, 3 points: 0.2811) is the row of its
# Gaussian-process recalibrator (0.2810) to all but the last digit; so that is the recalibrator. The
# second table has the same splits.
_SERIES = "gp"


FORRESTER_STEPS = Experiment(
    "Forrester, step by step",
    (Block(TABLE_1.blocks[0].title, _pair(FIGURE_START)),),
)


def _additional(task: str, printed: str) -> Block:
    setup = Setup(task, model="matern", calibration_set="N-1", acquisition="pi", initial=3)
    rows = {
        **_pair(setup, _SERIES, _ON_SERIES),
        "location and scale on the same splits": replace(setup, recalibrator="gaussian"),
        OURS: _ours(setup),
    }
    return Block(task, rows, (printed,))


TABLE_2 = Experiment(
    "Additional tasks: Matérn kernel, PI, time-series splits, 3 random points, 25 steps",
    (
        _additional("cosines", "cosines"),
        _additional("beale", "beale"),
        _additional("mccormick", "mccormick"),
        _additional("powers", "powers"),
        _additional("cross-in-tray", "cross_in_tray"),
        _additional("ackley", "ackley"),
        _additional("drop-wave", "dropwave"),
        _additional("gpyopt-beale", "beale"),
        _additional("gpyopt-drop-wave", "dropwave"),
    ),
)

_BASE = Setup("forrester", model="matern", calibration_set="N-1", initial=3)


def _changed(kind: str, label: str, recalibrator: str = _SERIES, **changes: str | int) -> Block:
    setup = replace(_BASE, **changes)  # type: ignore[arg-type]
    rows = _pair(setup, recalibrator, _ON_SERIES)
    if kind == "recalibrator":
        del rows[_ON_SERIES]  # one of them is
    return Block(f"{kind}: {label}", rows, (kind.replace(" ", "_"), label))


SENSITIVITY = Experiment(
    "Sensitivity on the Forrester function: EI, Matérn kernel, N − 1 splits, 3 random points",
    (
        *(_changed("kernel", k, model=k) for k in ("matern", "linear", "rbf", "periodic")),
        *(
            _changed("time series splits", s, calibration_set=s)
            for s in ("N-1", "N-2", "N-3", "N-4", "leave-one-out")
        ),
        *(
            _changed("recalibrator", r, recalibrator=r)
            for r in (
                "gp",
                "mlp",
                "online",
                "online-0.02",
                "online-0.2",
                "online-99",
                "isotonic",
                "isotonic-k/N",
                "leader",
                "gaussian",
            )
        ),
        *(_changed("initial points", str(n), initial=n) for n in (3, 4, 5, 7, 10)),
        *(
            _changed("initial design 4 points", d, initial=4, design=d)
            for d in ("random", "sobol", "latin")
        ),
        *(
            _changed("acquisition linear kernel", a, model="linear", acquisition=a)
            for a in ("lcb", "ei", "pi")
        ),
        *(_changed("acquisition matern kernel", a, acquisition=a) for a in ("lcb", "ei", "pi")),
    ),
)

CURVES = Experiment(
    "Calibration score and best value so far",
    (
        Block("Forrester, LCB at 10 %", _variants(FIGURE_START)),
        Block("Ackley 2-D, EI", _variants(ACKLEY)),
        Block("Alpine 10-D, EI", _variants(ALPINE)),
    ),
)

_CAMEL = Setup("six-hump camel")
SIX_HUMP = Experiment(
    "Six-hump camel with three acquisitions",
    tuple(
        Block(f"Six-hump camel, {a.upper()}", _variants(setup))
        for a in ("lcb", "ei", "pi")
        for setup in [replace(_CAMEL, acquisition=a)]
    ),
)

CONFORMAL = Experiment(
    "Against conformal Bayesian optimisation and adaptive UCB",
    tuple(
        Block(
            title,
            {
                **_pair(Setup(task, acquisition="lcb")),
                "conformal BO": Setup(task, acquisition="conformal"),
                "adaptive UCB": Setup(task, acquisition="adaptive"),
            },
        )
        for task, title in (
            ("ackley", "Ackley 2-D"),
            ("six-hump camel", "Six-hump camel"),
            ("alpine", "Alpine 10-D"),
        )
    ),
)

_LONG = replace(ALPINE, steps=100, calibration_set="leave-one-out, no refits")
ALPINE_100 = Experiment(
    "Alpine 10-D for 100 steps",
    (
        Block(
            "Alpine 10-D, EI, 100 steps",
            {
                **_variants(_LONG, _NO_REFITS),
                "calibrated by the leader": replace(_LONG, recalibrator="leader"),
            },
        ),
    ),
)


def _annealed(task: str, title: str) -> Block:
    setup = Setup(task, acquisition="lcb-annealed")
    fixed = replace(setup, acquisition="lcb")
    return Block(title, {**_pair(setup), "uncalibrated, mean − 2 std": fixed})


ANNEALED = Experiment(
    "Annealed bounds",
    (
        _annealed("forrester", "Forrester"),
        _annealed("six-hump camel", "Six-hump camel"),
        _annealed("ackley", "Ackley 2-D"),
        _annealed("alpine", "Alpine 10-D"),
    ),
)


def _tuning(task: str, title: str) -> Block:
    return Block(title, _pair(Setup(task, steps=50)))


LDA = Experiment(
    "Online LDA",
    (
        _tuning("lda-newsgroups", "20 Newsgroups, 288 settings"),
        _tuning("lda-wikipedia", "Wikipedia (Snoek et al. 2012), 288 settings"),
    ),
)
LDA_LIVE = Experiment(
    "Online LDA, trained at every step instead of looked up",
    (_tuning("lda-newsgroups-live", "20 Newsgroups, live"),),
    repetitions=5,
)
CIFAR10 = Experiment("CIFAR-10", (_tuning("cifar10", "CIFAR-10, six settings"),), repetitions=20)
SVHN = Experiment("SVHN", (_tuning("svhn", "SVHN, six settings"),), repetitions=20)


# Searches with a model that is right about the mean and ten times too sure of it.
_SURE = {
    "Six-hump camel, EI, std × 0.1": Setup("six-hump camel", model="rbf-sure"),
    "Ackley 2-D, EI, std × 0.1": Setup("ackley", model="rbf-sure"),
    "Alpine 10-D, EI, std × 0.1": Setup("alpine", model="rbf-sure"),
    "Cosines, EI, std × 0.1": Setup("cosines", model="rbf-sure"),
}
THEOREM_1 = Experiment(
    "Theorem 1 put to the test",
    (
        *CURVES.blocks,
        *SIX_HUMP.blocks,
        *(Block(title, _pair(setup)) for title, setup in _SURE.items()),
    ),
)


def _ways(setup: Setup) -> dict[str, Setup]:
    calibrated = replace(setup, recalibrator="gaussian", calibration_set="leave-one-out, in doubt")
    rows = {
        RAW: setup,
        CALIBRATED: calibrated,
        "calibrated online": replace(calibrated, calibration_set="online"),
    }
    if setup.model == "rbf":  # the refits of another model take minutes
        rows[LITERAL] = replace(setup, recalibrator="online")
    return rows


WHERE = Experiment(
    "Where calibration helps: model, acquisition, dimension",
    tuple(
        Block(f"{task}, {model}, {a.upper()}", _ways(Setup(task, model=model, acquisition=a)))
        for task in ("forrester", "six-hump camel", "ackley", "cosines", "cross-in-tray", "alpine")
        for model in ("rbf", "calibrant")
        for a in ("lcb", "lcb-10%", "ei", "pi")
    ),
    pooled=True,
)

EXPERIMENTS: dict[str, Experiment] = {
    "table1": TABLE_1,
    "table2": TABLE_2,
    "sensitivity": SENSITIVITY,
    "forrester": FORRESTER_STEPS,
    "benchmarks": CURVES,
    "sixhump": SIX_HUMP,
    "conformal": CONFORMAL,
    "annealed": ANNEALED,
    "alpine100": ALPINE_100,
    "lda": LDA,
    "lda-live": LDA_LIVE,
    "cifar10": CIFAR10,
    "svhn": SVHN,
    "theorem1": THEOREM_1,
    "where": WHERE,
}


ALL = [name for name in EXPERIMENTS if name != "lda-live"]  # that one takes the same numbers, hours


def repetitions(name: str, count: int | None = None) -> Iterator[Repetition]:
    """Return the searches of an experiment, repetition by repetition: all methods of one first."""
    experiment = EXPERIMENTS[name]
    for seed in range(experiment.repetitions if count is None else count):
        for block in experiment.blocks:
            for setup in block.rows.values():
                yield Repetition(setup, seed)
