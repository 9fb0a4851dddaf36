"""What a user who sets nothing gets. All of it are values: nothing can change them."""

from __future__ import annotations

from calibrant.acquisition.improvement import ExpectedImprovement
from calibrant.models.gp import GaussianProcess
from calibrant.models.kernels import RBF, Additive
from calibrant.models.rotation import Rotation
from calibrant.recalibration.chain import ChainRecalibrator
from calibrant.recalibration.gaussian import GaussianRecalibrator
from calibrant.recalibration.online import OnlineRecalibrator
from calibrant.recalibration.scale import ScaleRecalibrator

MODEL = Rotation(
    tuple(
        GaussianProcess(kernel)
        for kernel in (Additive(), Additive(whole=RBF), Additive(per_dimension=True))
    )
)

# Inside the acquisition, from leave-one-out scores. Small errors of scale cost an expected-
# improvement search nothing, and correcting them costs some; large ones cost much
# (benchmarks/calibrated). So it acts on evidence alone.
RECALIBRATOR = ScaleRecalibrator()

ACQUISITION = ExpectedImprovement()

# Points to spread before a model is asked. More of them, in many dimensions, cost more evaluations
# than the better first fit is worth.
N_STARTUP_TRIALS = 5

# What a model takes for noise may be structure, and then it sees no reason to leave a bad place:
# after so many suggestions without an improvement its forecasts are made wider.
PATIENCE = 10

# Intervals shown to people are recalibrated online: the guarantee is about these. Steps of 0.02
# suit the tens to hundreds of outcomes of a search: larger ones play infinite ends in a short
# run of bad luck. They allow 1/0.02 misses a level, so that the guarantee says nothing before 50
# outcomes; a search of 30 trials relies on what comes before them. Location and scale are learned
# faster, and not from the size of outliers: the less they trust the model, the more intervals hold,
# and the wider they are for it.
SHOWN = ChainRecalibrator(
    GaussianRecalibrator(strength=10.0, limit=4.0), OnlineRecalibrator(rate=0.02)
)

# Forecasts that the prior of chosen points has corrected (search/shown.py) deserve more trust. With
# 20, shares of single tasks lie closer to 80 % than with 30; with 10, intervals are less sharp
# (benchmarks/peers/prior_replay.py).
INFORMED = ChainRecalibrator(
    GaussianRecalibrator(strength=20.0, limit=4.0), OnlineRecalibrator(rate=0.02)
)
