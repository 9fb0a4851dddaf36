"""What each experiment is, in words."""

from __future__ import annotations

from benchmarks.paper.cnn import DEVIATIONS as NETWORKS
from benchmarks.paper.lda import DEVIATIONS as TOPICS

TEXTS = {
    "table1": (
        "m is the lowest value found, f the share of repetitions in which a method is worse than "
        "*calibrated*, a the normalised area under the curve of best values. The base is GPyOpt's "
        "model with the paper's kernel: RBF, one lengthscale, outcomes standardised, maximum "
        "likelihood (ours sees inputs on the unit cube and descends from 2 starts, not 5).\n\n"
        "What the paper's recalibrator was is not certain. Its algorithm learns each quantile by "
        "itself: that is *calibrated by the leader* here. Its discussion speaks of Gaussian "
        "recalibrators made for the outputs of Gaussian processes: that is *calibrated*, location "
        "and scale, shrunk as if by 10 outcomes that came as forecast. Both learn from "
        "leave-one-out scores with refits. *Calibrated as in calibrant* takes the scores in "
        "closed form, without refits, as the library does by default.\n\n"
        "The calibration score (m = 20 levels, lower is better) and the CRPS (median over steps, "
        "in units of the first points' spread) are of the forecasts that the acquisition used. "
        "The paper's Forrester row cannot come from random starts: all five of its uncalibrated "
        "runs end in the same local minimum. So there are two Forrester blocks."
    ),
    "table2": (
        "Calibrated as in the paper: a Gaussian process as recalibrator, on one-step-ahead splits "
        "with refits. Which Beale and drop-wave the paper used is not known: the true ones are "
        "here, and GPyOpt's, which are other functions, under their own names. *Location and "
        "scale on the same splits* shows what one training point does: a model fitted to a single "
        "outcome knows no spread, and one absurd score among a few is enough to ruin a scale."
    ),
    "sensitivity": (
        "One thing at a time is changed. The base is a Matérn kernel, EI, N − 1 splits, a Gaussian "
        "process as recalibrator and 3 random first points."
    ),
    "forrester": (
        "The true function, the model and what it believes before some of its steps. Both searches "
        "start from the same three points, none of which lies in [0.6, 0.9], where the minimum is."
    ),
    "benchmarks": (
        "Calibration score of all forecasts so far (m = 20 levels) and best value so far, means "
        "over repetitions with 95 % intervals of the mean."
    ),
    "sixhump": "The same for the six-hump camel function, with three acquisitions.",
    "conformal": (
        "Conformal Bayesian optimisation (Stanton et al. 2023) with a bound of two standard "
        "deviations over accepted outcomes; its density ratio is estimated from kernel densities "
        "instead of a trained classifier, its queries are weighted by the bound instead of sampled "
        "by Langevin dynamics, and acceptance is sharp. A-GP-UCB (Berkenkamp et al. 2019): "
        "lengthscales divided by t^0.25, a confidence factor of 2 that grows with the information "
        "gain; that its norm also grows is left out, which in ten dimensions would be pure "
        "exploration. The others use mean − 2 std."
    ),
    "alpine100": (
        "The leave-one-out scores are in closed form here, hyper-parameters as they are: refits "
        "would cost a hundred fits at each of a hundred steps. The paper reports 12.75 after 25 "
        "steps and 11.43 after 100 for its calibrated method."
    ),
    "lda": (
        "50 steps of EI after 5 random settings, on tables of all 288 settings evaluated "
        "beforehand. The second table is the public one of Snoek et al. (2012), the same task on "
        "another corpus; its columns have no names in the source, and are named by convention."
    ),
    "lda-live": "The same on 20 Newsgroups, with a model trained at every step.",
    "cifar10": "50 steps of EI after 5 random settings; every evaluation trains a network.",
    "svhn": (
        "The same network and settings on SVHN. The paper's figure shows no improvement here."
    ),
    "theorem1": (
        "How often a realised loss is at least r times the expected one; the theorem allows a "
        "share of 1/r. On streams (600 outcomes) the loss is what an outcome lies above the "
        "forecast's median, and forecasts are calibrated online; in searches it is the regret of "
        "the chosen point, under the forecasts of the calibrated searches before and after "
        "recalibration."
    ),
    "where": (
        "Beyond the paper: six problems, its model (*rbf*) and ours (*calibrant*), three "
        "acquisitions, one of them at two levels. *Calibrated*: location and scale from "
        "leave-one-out scores; *calibrated online* learns from the outcomes of the points that the "
        "search itself chose. The first table pools problems; its p-values count repetitions of "
        "different problems as one sample. Where an interval includes zero and p is small, many "
        "small gains stand against a few large losses."
    ),
}

_DEVIATIONS = {"lda": TOPICS, "lda-live": TOPICS, "cifar10": NETWORKS, "svhn": NETWORKS}


def text_of(name: str) -> str:
    """Return what an experiment is, and where it departs from the paper's."""
    return "\n\n".join(part for part in (TEXTS[name], _DEVIATIONS.get(name, "")) if part).strip()
