"""BoTorch models with calibrated posteriors, against BoTorch itself and against quadrature."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="needs torch: make test-torch")
pytest.importorskip("botorch", reason="needs BoTorch: make test-torch")

from botorch.acquisition import (  # noqa: E402
    qLogExpectedImprovement,
    qLogNoisyExpectedImprovement,
    qUpperConfidenceBound,
)
from botorch.acquisition.analytic import (  # noqa: E402
    LogExpectedImprovement,
    LogProbabilityOfImprovement,
    UpperConfidenceBound,
)
from botorch.acquisition.objective import ScalarizedPosteriorTransform  # noqa: E402
from botorch.models import ModelListGP, MultiTaskGP, SingleTaskGP  # noqa: E402
from botorch.models.deterministic import GenericDeterministicModel  # noqa: E402
from botorch.models.ensemble import EnsembleModel  # noqa: E402
from botorch.models.transforms.outcome import (  # noqa: E402
    ChainedOutcomeTransform,
    Log,
    Standardize,
)
from botorch.optim import optimize_acqf  # noqa: E402
from botorch.posteriors import GPyTorchPosterior, TransformedPosterior  # noqa: E402
from botorch.sampling.normal import IIDNormalSampler, SobolQMCNormalSampler  # noqa: E402
from gpytorch.distributions import MultivariateNormal  # noqa: E402
from linear_operator.operators import DiagLinearOperator  # noqa: E402
from scipy import stats  # noqa: E402

from calibrant import (  # noqa: E402
    ChainRecalibrator,
    GaussianRecalibrator,
    IdentityRecalibrator,
    IsotonicRecalibrator,
    LeaderRecalibrator,
    Normal,
    OnlineRecalibrator,
)
from calibrant.bridges.botorch import (  # noqa: E402
    CalibratedLogExpectedImprovement,
    CalibratedLogProbabilityOfImprovement,
    CalibratedModel,
    CalibratedPosterior,
    CalibratedUpperConfidenceBound,
    loo_scores,
    private,
    scores,
)
from calibrant.bridges.botorch.torch_residual import TorchResiduals  # noqa: E402
from calibrant.forecasts.residual import mirrored  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit"),
    pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.InputDataWarning"),
    pytest.mark.filterwarnings("ignore:`cache_root` is only supported"),
    pytest.mark.filterwarnings("ignore:Sparse invariant checks"),  # torch's, in a multi-task GP
]

SKEWED = np.concatenate([stats.expon.ppf(np.linspace(0.02, 0.98, 40)) * 1.5 - 0.8, [4.0, 5.0]])
LEADER = LeaderRecalibrator(strength=2.0).update_scores(SKEWED)
ONLINE = OnlineRecalibrator(rate=0.05).update_scores(SKEWED)
GAUSSIAN = GaussianRecalibrator(strength=2.0).update_scores(SKEWED)
RECALIBRATORS = {
    "leader": LEADER,
    "online": ONLINE,
    "isotonic": IsotonicRecalibrator().update_scores(SKEWED),
}


def data(n=12, d=2, seed=0):
    generator = torch.Generator().manual_seed(seed)
    X = torch.rand(n, d, generator=generator, dtype=torch.double)
    Y = torch.sin(4.0 * X).sum(-1, keepdim=True) + X[:, :1] ** 2
    return X, Y


def plain(n=12, d=2, **kwargs):
    X, Y = data(n, d)
    return SingleTaskGP(X, Y, **kwargs)


def several(n=12):
    X, Y = data(n)
    return SingleTaskGP(X, torch.cat([Y, torch.cos(3.0 * X[:, :1])], dim=-1))


def points(*shape, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(*shape, generator=generator, dtype=torch.double)


# -- the tables --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RECALIBRATORS)
@given(v=st.lists(st.floats(-6.0, 6.0), min_size=1, max_size=20))
@settings(max_examples=30, deadline=None)
def test_tables_agree_with_the_shapes_they_were_made_of(name, v):
    residual = RECALIBRATORS[name].residual
    tables, read = TorchResiduals([residual]), torch.tensor(v, dtype=torch.double)[:, None]
    # A residual with kinks is rounded off within a knot of each.
    tolerance = 1e-5 if name == "leader" else 0.05
    got = tables.transport(read)[:, 0].numpy()
    exact = np.clip(residual.at_score(v), -8.3, 8.3)
    assert np.allclose(got, exact, atol=tolerance * np.maximum(1.0, np.abs(exact)).max())
    assert np.allclose(tables.log_shortfall(read)[:, 0], residual.log_shortfall(v), atol=tolerance)
    flipped = mirrored(residual)
    surplus = flipped.log_shortfall(-np.array(v))
    assert np.allclose(tables.log_surplus(read)[:, 0], surplus, atol=tolerance)
    if name == "leader":
        assert np.allclose(tables.score(read)[:, 0], residual.score(v), atol=1e-6)


@pytest.mark.parametrize("name", [*RECALIBRATORS, "gaussian", "chain"])
def test_a_mirrored_shape_is_that_of_the_opposite_outcomes(name):
    recalibrators = {**RECALIBRATORS, "gaussian": GAUSSIAN}
    residual = (
        LEADER.calibrate(GAUSSIAN.residual) if name == "chain" else recalibrators[name].residual
    )
    z = np.linspace(-3.0, 3.0, 13)
    assert np.allclose(mirrored(residual).at_score(z), -residual.at_score(-z))
    assert np.allclose(mirrored(residual).mean(), -residual.mean())
    assert np.allclose(mirrored(mirrored(residual)).at_score(z), residual.at_score(z))
    with pytest.raises(TypeError, match="not the residual of a recalibrator"):
        mirrored(stats)


@pytest.mark.parametrize("curve", ["transport", "score", "log_shortfall", "log_surplus"])
def test_gradients_of_the_tables(curve):
    tables = TorchResiduals([LEADER.residual, ONLINE.residual])
    v = points(7, 2).mul(4.0).sub(2.0).requires_grad_()
    assert torch.autograd.gradcheck(getattr(tables, curve), v)


# -- the posterior -----------------------------------------------------------------------------


def test_with_the_identity_everything_is_botorchs_own():
    model, X = plain(), points(5, 1, 2)
    for calibrated in (CalibratedModel(model), CalibratedModel(model, IdentityRecalibrator())):
        ours, theirs = calibrated.posterior(X), model.posterior(X)
        assert torch.equal(ours.mean, theirs.mean)
        assert torch.equal(ours.variance, theirs.variance)
        pairs = [
            (CalibratedLogExpectedImprovement, LogExpectedImprovement, {"best_f": 1.2}),
            (CalibratedLogProbabilityOfImprovement, LogProbabilityOfImprovement, {"best_f": 1.2}),
            (CalibratedUpperConfidenceBound, UpperConfidenceBound, {"beta": 4.0}),
        ]
        for our_class, their_class, arguments in pairs:
            for maximize in (True, False):
                ours = our_class(calibrated, maximize=maximize, **arguments)(X)
                assert torch.equal(ours, their_class(model, maximize=maximize, **arguments)(X))
        sampler = SobolQMCNormalSampler(torch.Size([64]), seed=0)
        ours = qLogExpectedImprovement(calibrated, 1.2, sampler=sampler)(X)
        assert torch.equal(ours, qLogExpectedImprovement(model, 1.2, sampler=sampler)(X))


@pytest.mark.parametrize("name", RECALIBRATORS)
def test_marginals_are_the_calibrated_forecasts(name):
    model, X, recalibrator = plain(), points(6, 2), RECALIBRATORS[name]
    raw = model.posterior(X)
    exact = recalibrator.calibrate(
        Normal(raw.mean[:, 0].detach().numpy(), raw.variance[:, 0].detach().sqrt().numpy())
    )
    posterior = CalibratedModel(model, recalibrator).posterior(X)
    assert isinstance(posterior, CalibratedPosterior)
    assert np.allclose(posterior.mean[:, 0].detach(), exact.mean())
    assert np.allclose(posterior.variance[:, 0].detach().sqrt(), exact.std())
    levels = torch.tensor([0.05, 0.5, 0.9], dtype=torch.double)
    quantiles = posterior.quantile(levels)
    assert quantiles.shape == (3, 6, 1)
    for level, row in zip(levels.tolist(), quantiles, strict=True):
        assert np.allclose(row[:, 0].detach(), exact.quantile(level))
    values = torch.tensor([0.3, 1.0], dtype=torch.double)
    for value, row in zip(values.tolist(), posterior.cdf(values), strict=True):
        assert np.allclose(row[:, 0].detach(), exact.cdf(value), rtol=1e-9)


def test_draws_have_the_calibrated_marginals_and_the_models_correlations():
    model, X = plain(), torch.tensor([[0.3, 0.3], [0.35, 0.3], [0.9, 0.9]], dtype=torch.double)
    posterior = CalibratedModel(model, LEADER).posterior(X)
    torch.manual_seed(0)
    draws = posterior.rsample(torch.Size([20_000])).detach()[..., 0].numpy()
    exact = LEADER.calibrate(
        Normal(posterior.location[:, 0].detach().numpy(), posterior.scale[:, 0].detach().numpy())
    )
    for column in range(3):
        assert stats.kstest(draws[:, column], exact[column].cdf).pvalue > 1e-3
    normal_scores = np.stack([exact[i].score(draws[:, i]) for i in range(3)])
    covariance = model.posterior(X).distribution.covariance_matrix.detach().numpy()
    std = np.sqrt(np.diag(covariance))
    assert np.allclose(np.corrcoef(normal_scores), covariance / np.outer(std, std), atol=0.03)


def test_gaussian_shapes_leave_a_gaussian_posterior():
    model, X = plain(), points(3, 2)
    raw, ours = model.posterior(X), CalibratedModel(model, GAUSSIAN).posterior(X)
    assert isinstance(ours, GPyTorchPosterior)
    a, b = float(GAUSSIAN.residual.mean()), float(GAUSSIAN.residual.std())
    assert torch.allclose(ours.mean, raw.mean + a * raw.variance.sqrt())
    assert torch.allclose(
        ours.distribution.covariance_matrix, b * b * raw.distribution.covariance_matrix
    )
    values = torch.tensor([0.5, 1.5], dtype=torch.double)
    exact = GAUSSIAN.calibrate(
        Normal(raw.mean[:, 0].detach().numpy(), raw.variance[:, 0].detach().sqrt().numpy())
    )
    for value, row in zip(values.tolist(), ours.cdf(values), strict=True):
        assert np.allclose(row[:, 0].detach(), exact.cdf(value))


@pytest.mark.parametrize("interleaved", [True, False])
def test_several_outputs_have_a_recalibrator_each(interleaved):
    model, X = several(), points(4, 2)
    if not interleaved:
        Xs, Y = data()
        model = ModelListGP(SingleTaskGP(Xs, Y), SingleTaskGP(Xs, torch.cos(3.0 * Xs[:, :1])))
    other = GaussianRecalibrator().update_scores([-3.0, 3.0, 2.0])
    raw = model.posterior(X)
    ours = CalibratedModel(model, [GAUSSIAN, other]).posterior(X)
    for output, recalibrator in enumerate((GAUSSIAN, other)):
        std = raw.variance[:, output].sqrt() * float(recalibrator.residual.std())
        assert torch.allclose(ours.variance[:, output].sqrt(), std)
    skewed = CalibratedModel(model, [IdentityRecalibrator(), LEADER])
    mixed = skewed.posterior(X)
    assert torch.allclose(mixed.mean[:, 0], raw.mean[:, 0])
    assert not torch.allclose(mixed.mean[:, 1], raw.mean[:, 1])
    assert mixed.rsample(torch.Size([5])).shape == (5, 4, 2)
    for second in (skewed.posterior(X, output_indices=[1]), skewed.subset_output([1]).posterior(X)):
        assert torch.allclose(second.mean, mixed.mean[:, 1:])
    with pytest.raises(ValueError, match=r"got 3 for a model with 2 outputs"):
        CalibratedModel(model, [LEADER] * 3)


# -- acquisitions ------------------------------------------------------------------------------


def reference_improvement(posterior, best, *, maximize):
    """Integrate over levels, with nothing but quantiles."""
    levels = (np.arange(200_000) + 0.5) / 200_000
    location, scale = (
        part.detach().reshape(-1).numpy() for part in (posterior.location, posterior.scale)
    )
    values = location[:, None] + scale[:, None] * LEADER.residual.quantile(levels)
    gain = values - best if maximize else best - values
    return np.maximum(gain, 0.0).mean(axis=1)


@pytest.mark.parametrize("maximize", [True, False])
def test_log_improvement_is_that_of_the_skewed_posterior_not_of_its_moments(maximize):
    model, X = plain(), points(5, 1, 2)
    calibrated = CalibratedModel(model, LEADER)
    sign, best = (1.0, 1.9) if maximize else (-1.0, 1.4)
    ours = CalibratedLogExpectedImprovement(calibrated, best_f=best, maximize=maximize)(X)
    posterior = calibrated.posterior(X)
    exact = reference_improvement(posterior, best, maximize=maximize)
    assert np.allclose(ours.exp().detach(), exact, rtol=2e-3, atol=1e-6)
    matched = LogExpectedImprovement(calibrated, best_f=best, maximize=maximize)(X)
    assert (ours - matched).abs().max() > 0.05  # BoTorch's own sees mean and variance only
    sampler = SobolQMCNormalSampler(torch.Size([4096]), seed=0)
    transform = ScalarizedPosteriorTransform(torch.tensor([sign], dtype=torch.double))
    drawn = qLogExpectedImprovement(
        calibrated, sign * best, sampler=sampler, posterior_transform=transform
    )(X)
    likely = ours > -5.0  # a few thousand draws do not see what is less likely
    assert likely.any()
    assert torch.allclose(drawn[likely], ours[likely], atol=0.03)
    by_transform = CalibratedLogExpectedImprovement(
        calibrated, best_f=sign * best, posterior_transform=transform
    )(X)
    assert torch.allclose(by_transform, ours, atol=1e-6)


@pytest.mark.parametrize("maximize", [True, False])
def test_probability_and_bound_are_those_of_the_skewed_posterior(maximize):
    model, X = plain(), points(5, 1, 2)
    calibrated = CalibratedModel(model, LEADER)
    posterior = calibrated.posterior(X)
    below = posterior.cdf(torch.tensor(0.9, dtype=torch.double)).reshape(-1)
    probability = CalibratedLogProbabilityOfImprovement(calibrated, best_f=0.9, maximize=maximize)(
        X
    ).exp()
    assert torch.allclose(probability, 1.0 - below if maximize else below)
    bound = CalibratedUpperConfidenceBound(calibrated, beta=4.0, maximize=maximize)(X)
    level = stats.norm.cdf(2.0 if maximize else -2.0)
    quantile = posterior.quantile(torch.tensor(level, dtype=torch.double)).reshape(-1)
    assert torch.allclose(bound, quantile if maximize else -quantile, atol=1e-7)


def test_the_probability_of_improvement_has_a_gradient_far_from_any():
    X = points(5, 1, 2).requires_grad_()
    value = CalibratedLogProbabilityOfImprovement(CalibratedModel(plain(), LEADER), 1e3)(X)
    (gradient,) = torch.autograd.grad(value.sum(), X)
    assert torch.isfinite(value).all()
    assert (gradient.abs().sum(dim=(1, 2)) > 0.0).all()


def test_acquisitions_need_a_calibrated_model():
    with pytest.raises(TypeError, match=r"CalibratedModel, but got SingleTaskGP"):
        CalibratedLogExpectedImprovement(plain(), best_f=1.0)(points(2, 1, 2))


@pytest.mark.parametrize("name", RECALIBRATORS)
@pytest.mark.parametrize("analytic", [True, False])
def test_gradients_of_acquisitions(name, analytic):
    calibrated = CalibratedModel(plain(), RECALIBRATORS[name])
    X = points(3, 1, 2).requires_grad_()
    if analytic:
        acquisition = CalibratedLogExpectedImprovement(calibrated, best_f=1.0)
    else:
        sampler = SobolQMCNormalSampler(torch.Size([32]), seed=0)
        acquisition = qLogExpectedImprovement(calibrated, 1.0, sampler=sampler)
    assert torch.autograd.gradcheck(acquisition, X, eps=1e-7, atol=1e-3, rtol=1e-3)


ACQUISITIONS = {
    "LogEI": lambda model, X: CalibratedLogExpectedImprovement(model, best_f=1.2),
    "qLogEI": lambda model, X: qLogExpectedImprovement(model, 1.2, sampler=_sampler()),
    "qLogNEI": lambda model, X: _noisy(model, X),
    "qUCB": lambda model, X: qUpperConfidenceBound(model, 2.0, sampler=_sampler()),
}


def _noisy(model, X):
    torch.manual_seed(0)  # which baseline points are kept is a matter of chance
    return qLogNoisyExpectedImprovement(model, X, sampler=_sampler())


def _sampler():
    return SobolQMCNormalSampler(torch.Size([64]), seed=0)


# Where a line search of SciPy's ends, BoTorch says so and tries again from other points; whether
# one does depends on rounding. If that fails too, it has another warning, an error here.
@pytest.mark.filterwarnings("ignore:Optimization failed in .gen_candidates_scipy.:RuntimeWarning")
@pytest.mark.parametrize("recalibrator", [GAUSSIAN, LEADER, ONLINE], ids=["normal", "mix", "warp"])
@pytest.mark.parametrize("name", ACQUISITIONS)
def test_optimize_acqf_finds_the_best_of_a_fine_grid(name, recalibrator):
    model, bounds = plain(d=1), torch.tensor([[0.0], [1.0]], dtype=torch.double)
    acquisition = ACQUISITIONS[name](CalibratedModel(model, recalibrator), model.train_inputs[0])
    torch.manual_seed(0)
    _, value = optimize_acqf(acquisition, bounds, q=1, num_restarts=20, raw_samples=256)
    grid = torch.linspace(0.0, 1.0, 400, dtype=torch.double)[:, None, None]
    assert value >= acquisition(grid).max() - 1e-3


def test_batches_of_candidates():
    bounds = torch.tensor([[0.0] * 2, [1.0] * 2], dtype=torch.double)
    acquisition = qLogExpectedImprovement(CalibratedModel(plain(), LEADER), 1.2, sampler=_sampler())
    torch.manual_seed(0)
    X, _ = optimize_acqf(acquisition, bounds, q=3, num_restarts=2, raw_samples=16)
    assert X.shape == (3, 2)
    assert torch.pdist(X).min() > 1e-3


# -- scores ------------------------------------------------------------------------------------


def test_leave_one_out_scores_are_those_of_models_without_the_outcome():
    model = plain(n=8)
    X, Y = data(8)
    for left, z in enumerate(loo_scores(model)[0]):
        kept = [i for i in range(8) if i != left]
        without = SingleTaskGP(X[kept], Y[kept], outcome_transform=None)
        without.load_state_dict(
            {k: v for k, v in model.state_dict().items() if "outcome" not in k}, strict=False
        )
        standardised = model.outcome_transform
        target = (Y - standardised.means) / standardised.stdvs
        without.set_train_data(X[kept], target[kept, 0], strict=False)
        without.eval()
        posterior = without.posterior(X[left : left + 1], observation_noise=True)
        expected = (target[left] - posterior.mean[0]) / posterior.variance[0].sqrt()
        assert np.isclose(z, expected.item(), rtol=1e-4)


def test_scores_of_new_outcomes_are_under_the_raw_forecast():
    model, X = plain(), points(4, 2)
    Y = torch.tensor([[0.1], [0.5], [1.0], [2.0]], dtype=torch.double)
    raw = model.posterior(X, observation_noise=True)
    expected = ((Y - raw.mean) / raw.variance.sqrt())[:, 0].detach().numpy()
    for one in (model, CalibratedModel(model, LEADER)):
        assert np.allclose(scores(one, X, Y)[0], expected)
    assert len(scores(several(), X, torch.cat([Y, Y], dim=-1))) == 2
    with pytest.raises(ValueError, match=r"`Y` must have shape \(4, 1\)"):
        scores(model, X, Y[:, 0])


def test_leave_one_out_of_several_outputs_and_lists_and_batches():
    assert [z.shape for z in loo_scores(several(9))] == [(9,), (9,)]
    X, Y = data(9)
    models = ModelListGP(SingleTaskGP(X, Y), SingleTaskGP(X, Y * Y))
    assert [z.shape for z in loo_scores(models)] == [(9,), (9,)]
    assert np.allclose(loo_scores(models)[0], loo_scores(SingleTaskGP(X, Y))[0])
    calibrated = CalibratedModel.from_leave_one_out(models, LeaderRecalibrator())
    assert calibrated.posterior(points(3, 2)).mean.shape == (3, 2)


# -- kinds of models ---------------------------------------------------------------------------


def test_a_model_with_a_logarithm_is_calibrated_under_it():
    X, Y = data()
    model, at = SingleTaskGP(X, (Y + 3.0).exp(), outcome_transform=Log()), points(3, 2)
    raw, ours = model.posterior(at), CalibratedModel(model, LEADER).posterior(at)
    level = torch.tensor(0.8, dtype=torch.double)
    inner = raw._posterior
    z = float(LEADER.residual.quantile(0.8))
    assert torch.allclose(ours.quantile(level), (inner.mean + z * inner.variance.sqrt()).exp())
    torch.manual_seed(0)
    draws = ours.rsample(torch.Size([40_000]))
    assert torch.allclose(draws.mean(0), ours.mean, rtol=0.02)
    assert torch.allclose(draws.var(0), ours.variance, rtol=0.2)
    gaussian = CalibratedModel(model, GAUSSIAN).posterior(at)
    assert isinstance(gaussian, TransformedPosterior)
    assert torch.allclose(gaussian.rsample(torch.Size([40_000])).mean(0), gaussian.mean, rtol=0.05)
    online = scores(model, at, ours.quantile(level).detach())[0]
    noiseless = np.sqrt(
        (inner.variance / model.posterior(at, observation_noise=True)._posterior.variance)
        .detach()
        .numpy()[:, 0]
    )
    assert np.allclose(online, z * noiseless)
    with pytest.raises(NotImplementedError, match="inverse of the model's outcome transform"):
        ours.cdf(level)
    with pytest.raises(NotImplementedError, match="qLogExpectedImprovement"):
        CalibratedLogExpectedImprovement(CalibratedModel(model, LEADER), best_f=1.0)(at[:, None])


def test_standardised_outcomes_fixed_noise_and_batches_of_models():
    X, Y = data()
    at = points(3, 2)
    model = SingleTaskGP(X, 1e6 * Y, outcome_transform=Standardize(1))
    ours = CalibratedModel(model, LEADER).posterior(at)
    raw = model.posterior(at)
    mean = raw.mean + float(LEADER.residual.mean()) * raw.variance.sqrt()
    assert torch.allclose(ours.mean, mean)
    fixed = SingleTaskGP(X, Y, train_Yvar=torch.full_like(Y, 0.01))
    assert CalibratedModel.from_leave_one_out(fixed, LEADER).posterior(at).mean.shape == (3, 1)
    batch = SingleTaskGP(X.expand(2, -1, -1), torch.stack([Y, Y * Y]))
    calibrated = CalibratedModel(batch, LEADER)
    assert calibrated.batch_shape == (2,)
    assert calibrated.posterior(at).rsample(torch.Size([7])).shape == (7, 2, 3, 1)
    assert len(loo_scores(batch)[0]) == 24


def chained():
    return ChainedOutcomeTransform(log=Log(), standardise=Standardize(1))


def test_scores_are_in_the_units_in_which_a_model_is_gaussian():
    X, Y = data()
    positive, at = (Y + 3.0).exp(), points(4, 2)
    new = torch.tensor([[20.0], [40.0], [60.0], [90.0]], dtype=torch.double)
    by_hand = SingleTaskGP(X, positive.log())  # standardises by itself
    model = SingleTaskGP(X, positive, outcome_transform=chained())
    expected = scores(by_hand, at, new.log())[0]
    assert np.allclose(scores(model, at, new)[0], expected)
    assert np.allclose(loo_scores(model)[0], loo_scores(by_hand)[0])
    assert model.outcome_transform is not None  # it was only taken off for a while
    pair = ModelListGP(model, by_hand)
    both = scores(pair, at, torch.cat([new, new.log()], dim=-1))
    assert np.allclose(both, [expected, expected])


@pytest.mark.parametrize("recalibrator", [None, GAUSSIAN, LEADER, ONLINE])
def test_all_posteriors_answer_the_same_questions(recalibrator):
    level = torch.tensor(0.7, dtype=torch.double)
    posterior = CalibratedModel(plain(), recalibrator).posterior(points(3, 2))
    assert posterior.cdf(level).shape == posterior.density(level).shape == (3, 1)
    X, Y = data()
    model = SingleTaskGP(X, (Y + 3.0).exp(), outcome_transform=chained())
    mapped = CalibratedModel(model, recalibrator).posterior(points(3, 2))
    assert mapped.quantile(level).shape == mapped.mean.shape == mapped.variance.shape == (3, 1)
    if recalibrator is None:
        assert torch.equal(mapped.mean, model.posterior(points(3, 2)).mean)


@pytest.mark.parametrize("name", RECALIBRATORS)
def test_densities_are_exact(name):
    model, X, recalibrator = plain(), points(6, 2), RECALIBRATORS[name]
    posterior = CalibratedModel(model, recalibrator).posterior(X)
    exact = recalibrator.calibrate(
        Normal(posterior.location[:, 0].detach().numpy(), posterior.scale[:, 0].detach().numpy())
    )
    for value in (0.3, 1.0, 1.6):
        got = posterior.density(torch.tensor(value, dtype=torch.double))[:, 0]
        assert np.allclose(got, exact.pdf(value), rtol=1e-9)
        assert not got.requires_grad


def test_draws_and_closed_forms_agree_where_a_chain_has_levels_at_infinity():
    chain = ChainRecalibrator(
        GaussianRecalibrator(strength=5.0), OnlineRecalibrator(rate=0.05)
    ).update_scores(SKEWED)
    assert np.isinf(chain.residual.quantile(0.995))
    calibrated = CalibratedModel(plain(), chain)
    X = points(3, 1, 2)
    posterior = calibrated.posterior(X)
    torch.manual_seed(0)
    draws = posterior.rsample(torch.Size([200_000])).detach()
    assert torch.allclose(draws.mean(0), posterior.mean, rtol=0.02)
    assert torch.allclose(draws.std(0), posterior.variance.sqrt(), rtol=0.02)
    improvement = CalibratedLogExpectedImprovement(calibrated, best_f=1.6)(X)
    drawn = (draws - 1.6).clamp_min(0.0).mean(0).log().reshape(-1)
    assert torch.allclose(improvement, drawn, atol=0.05)


def test_no_analytic_acquisition_under_a_transform_whatever_the_shape():
    X, Y = data()
    model = SingleTaskGP(X, (Y + 3.0).exp(), outcome_transform=Log())
    for recalibrator in (GAUSSIAN, LEADER):
        with pytest.raises(NotImplementedError, match="qLogExpectedImprovement"):
            CalibratedLogExpectedImprovement(CalibratedModel(model, recalibrator), best_f=50.0)(
                points(2, 1, 2)
            )
        alone = CalibratedModel(ModelListGP(model), recalibrator)
        with pytest.raises(NotImplementedError, match="qLogExpectedImprovement"):
            CalibratedLogExpectedImprovement(alone, best_f=50.0)(points(2, 1, 2))


def test_a_list_of_skewed_posteriors_is_not_summed_by_its_moments():
    X, Y = data()
    models = ModelListGP(
        SingleTaskGP(X, (Y + 3.0).exp(), outcome_transform=Log()), SingleTaskGP(X, Y)
    )
    transform = ScalarizedPosteriorTransform(torch.tensor([0.5, 0.5], dtype=torch.double))
    with pytest.raises(NotImplementedError, match="LinearMCObjective"):
        CalibratedModel(models, LEADER).posterior(points(1, 2), posterior_transform=transform)


def test_tasks_in_a_column_are_refused_and_tasks_as_outputs_are_not():
    X, Y = data()
    tasks = torch.cat([torch.zeros(6, 1), torch.ones(6, 1)]).double()
    model = MultiTaskGP(torch.cat([X, tasks], dim=-1), Y, task_feature=-1)
    calibrated = CalibratedModel(model, LEADER)
    assert calibrated.posterior(points(3, 2)).mean.shape == (3, 2)
    with pytest.raises(NotImplementedError, match="Leave that column out"):
        calibrated.posterior(torch.cat([points(3, 2), torch.zeros(3, 1).double()], dim=-1))
    with pytest.raises(NotImplementedError, match="use `scores`"):
        loo_scores(model)


def test_what_inference_mode_made_can_be_used_with_gradients():
    acquisition = CalibratedLogExpectedImprovement(CalibratedModel(plain(), LEADER), best_f=1.2)
    X = points(2, 1, 2)
    with torch.inference_mode():
        acquisition.model.residuals.log_surplus(X)
    X.requires_grad_()
    torch.autograd.grad(acquisition(X).sum(), X)


def test_deterministic_models_and_outputs_counted_from_the_end():
    model = GenericDeterministicModel(lambda X: X.sum(-1, keepdim=True))
    assert CalibratedModel(model).posterior(points(3, 2)).mean.shape == (3, 1)
    calibrated = CalibratedModel(several(), [IdentityRecalibrator(), LEADER])
    last = calibrated.posterior(points(3, 2), output_indices=[-1])
    assert torch.allclose(last.mean, calibrated.posterior(points(3, 2)).mean[:, 1:])
    assert np.allclose(loo_scores(calibrated), loo_scores(several()))


@pytest.mark.parametrize("recalibrator", [None, LEADER])
def test_fantasies_of_a_list_of_models(recalibrator):
    X, Y = data()
    models = ModelListGP(SingleTaskGP(X, Y), SingleTaskGP(X, Y * Y))
    calibrated = CalibratedModel(models, recalibrator)
    calibrated.posterior(points(1, 2))
    fantasy = calibrated.fantasize(points(2, 2), IIDNormalSampler(torch.Size([3]), seed=0))
    assert fantasy.posterior(points(4, 2)).mean.shape == (3, 4, 2)


def test_fantasies_are_recalibrated_as_before():
    calibrated = CalibratedModel(plain(), LEADER)
    calibrated.posterior(points(1, 2))  # fills the caches that conditioning goes on from
    fantasy = calibrated.fantasize(points(2, 2), SobolQMCNormalSampler(torch.Size([3]), seed=0))
    assert isinstance(fantasy, CalibratedModel)
    assert fantasy.posterior(points(4, 2)).mean.shape == (3, 4, 1)


def fake(mean, variance):
    from botorch.models.model import Model

    class Fake(Model):
        num_outputs = 1

        def posterior(self, X, **_):
            full = torch.full(X.shape[:-1], float(mean), dtype=torch.double)
            spread = DiagLinearOperator(torch.full_like(full, float(variance)))
            return GPyTorchPosterior(MultivariateNormal(full, spread))

    return Fake()


@pytest.mark.filterwarnings("ignore:Negative variance values detected")  # GPyTorch's, of zero
def test_a_model_that_returns_nan_is_an_error_and_one_that_is_sure_is_not():
    with pytest.raises(ValueError, match="must be finite, but the model returned NaN"):
        CalibratedModel(fake(np.nan, 1.0), LEADER).posterior(points(3, 2))
    with pytest.raises(ValueError, match="must be finite, but the model returned NaN"):
        CalibratedModel(fake(np.nan, 1.0), GAUSSIAN).posterior(points(3, 2))
    sure = CalibratedModel(fake(2.0, 0.0), LEADER).posterior(points(3, 2))
    assert torch.allclose(sure.mean, torch.tensor(2.0, dtype=torch.double))
    assert torch.isfinite(
        CalibratedLogExpectedImprovement(CalibratedModel(fake(2.0, 0.0), LEADER), best_f=1.0)(
            points(3, 1, 2)
        )
    ).all()


def test_ensembles_are_refused_with_the_way_out():
    class Members(EnsembleModel):
        num_outputs = 1

        def forward(self, X):
            return torch.stack([X.sum(-1, keepdim=True), X.prod(-1, keepdim=True)], dim=-3)

    with pytest.raises(NotImplementedError, match="EnsemblePosterior"):
        CalibratedModel(Members(), LEADER).posterior(points(3, 2))


def test_sums_of_skewed_outputs_are_refused_with_the_way_out():
    calibrated = CalibratedModel(several(), LEADER)
    transform = ScalarizedPosteriorTransform(torch.tensor([0.5, 0.5], dtype=torch.double))
    with pytest.raises(NotImplementedError, match="LinearMCObjective"):
        calibrated.posterior(points(3, 2), posterior_transform=transform)
    gaussian = CalibratedModel(several(), GAUSSIAN)
    assert gaussian.posterior(points(3, 2), posterior_transform=transform).mean.shape == (3, 1)


def test_single_precision():
    model, X = plain(), points(5, 1, 2)
    double = CalibratedLogExpectedImprovement(CalibratedModel(model, LEADER), best_f=1.2)(X)
    single = CalibratedLogExpectedImprovement(CalibratedModel(plain().float(), LEADER), best_f=1.2)(
        X.float()
    )
    assert single.dtype == torch.float32
    assert torch.allclose(single.double(), double, atol=0.02)


needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@needs_gpu
@pytest.mark.parametrize("recalibrator", [GAUSSIAN, LEADER, ONLINE], ids=["normal", "mix", "warp"])
@pytest.mark.parametrize("name", ACQUISITIONS)
def test_numbers_on_a_gpu_are_those_on_the_cpu(name, recalibrator):
    X = points(5, 1, 2)
    here, there = plain(), plain().to("cuda")
    on_cpu = ACQUISITIONS[name](CalibratedModel(here, recalibrator), here.train_inputs[0])(X)
    model = CalibratedModel(there, recalibrator)
    on_gpu = ACQUISITIONS[name](model, there.train_inputs[0])(X.to("cuda"))
    assert on_gpu.is_cuda
    assert torch.allclose(on_gpu.cpu(), on_cpu, rtol=1e-6, atol=1e-6)
    assert np.allclose(loo_scores(there)[0], loo_scores(here)[0], rtol=1e-6)


@needs_gpu
def test_optimize_acqf_on_a_gpu():
    model = plain().to("cuda")
    calibrated = CalibratedModel.from_leave_one_out(model, LEADER)
    acquisition = CalibratedLogExpectedImprovement(calibrated, best_f=1.2)
    bounds = torch.tensor([[0.0] * 2, [1.0] * 2], dtype=torch.double, device="cuda")
    torch.manual_seed(0)
    _, value = optimize_acqf(acquisition, bounds, q=1, num_restarts=20, raw_samples=256)
    assert value >= acquisition(points(500, 1, 2).to("cuda")).max() - 1e-3


# ---- private names


def test_the_version_is_one_that_was_tried():
    """After an upgrade of BoTorch, run this file and add the version."""
    import botorch

    assert any(botorch.__version__.startswith(version) for version in private.TRIED_WITH)


def test_no_other_file_of_the_bridge_uses_private_names():
    folder = Path(private.__file__).parent
    names = re.compile(r"(?<!self)(?<!\(\))\._[a-z]\w*")
    for path in folder.glob("*.py"):
        if path.name != "private.py":
            assert not names.findall(path.read_text(encoding="utf-8")), path.name


def test_scores_leave_the_model_as_it_was():
    """Not even for a moment: another thread may be using it."""
    X, Y = points(9, 2), points(9, 2).sum(dim=-1, keepdim=True)
    model = SingleTaskGP(X, Y, outcome_transform=Standardize(1))
    model.train()
    watched = [(name, module.training) for name, module in model.named_modules()]
    transform = model.outcome_transform
    seen = []

    class Watch(dict):
        def pop(self, *args):
            seen.append(args)
            return super().pop(*args)

    model._modules = Watch(model._modules)
    scores(model, points(3, 2, seed=4), points(3, 1, seed=5))
    assert not seen
    assert model.outcome_transform is transform
    assert [(name, module.training) for name, module in model.named_modules()] == watched
    assert model.training
