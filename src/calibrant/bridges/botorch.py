"""BoTorch models with calibrated posteriors. Needs BoTorch (``calibrant[botorch]``).

    model = SingleTaskGP(X, Y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    calibrated = CalibratedModel(model, LeaderRecalibrator().update_scores(loo_scores(model)[0]))
    optimize_acqf(qLogExpectedImprovement(calibrated, Y.max()), …)

A posterior with means μ, stds σ and correlated normal scores z becomes μ + σ·T(z), with T the map
from scores to the values of the recalibrator's shape: marginals are the calibrated ones, Q∘R, and
the scores are correlated as before (a Gaussian copula). Where all shapes are Gaussian the result is
a Gaussian posterior again, of a subclass of BoTorch's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from botorch.acquisition.objective import PosteriorTransform, ScalarizedPosteriorTransform
from botorch.cross_validation import loo_cv
from botorch.models.model import FantasizeMixin, Model
from botorch.models.model_list_gp_regression import ModelListGP
from botorch.posteriors import GPyTorchPosterior, Posterior, PosteriorList, TransformedPosterior
from botorch.posteriors.fully_bayesian import GaussianMixturePosterior
from gpytorch.distributions import MultitaskMultivariateNormal
from torch import Tensor

from calibrant.bridges.torch_shape import TorchShapes
from calibrant.gaussian import FloatArray
from calibrant.recalibrate import IdentityRecalibrator, Recalibrator


class CalibratedPosterior(TransformedPosterior):
    """A Gaussian posterior read through the shapes of recalibrators, one an output.

    BoTorch's analytic acquisitions look at mean and variance only, which are not all there is to
    know here: use those of :mod:`calibrant.bridges.botorch_acquisition`, or any that draws samples.

    Args:
        posterior: what is recalibrated; its marginals must be Gaussian.
        shapes: of its outputs.
        outcome: an increasing map of the result, where a model was fitted to mapped outcomes.
    """

    def __init__(
        self,
        posterior: GPyTorchPosterior,
        shapes: TorchShapes,
        outcome: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        super().__init__(posterior, self._recalibrated)
        self.shapes, self.outcome = shapes, outcome
        self.location, self.scale = _location_scale(posterior)

    def _recalibrated(self, samples: Tensor) -> Tensor:
        z = (samples - self.location) / self.scale
        return self._outcome(self.location + self.scale * self.shapes.transport(z))

    def _outcome(self, values: Tensor) -> Tensor:
        return values if self.outcome is None else self.outcome(values)

    @property
    def mean(self) -> Tensor:
        """The calibrated mean."""
        if self.outcome is None:
            return self.location + self.scale * self.shapes.mean(self.location)
        values, weights = self._nodes()
        return (weights * values).sum(dim=0)

    @property
    def variance(self) -> Tensor:
        """The calibrated variance."""
        if self.outcome is None:
            return (self.scale * self.shapes.std(self.scale)) ** 2
        values, weights = self._nodes()
        return (weights * (values - self.mean) ** 2).sum(dim=0)

    def _nodes(self) -> tuple[Tensor, Tensor]:
        nodes, weights = self.shapes.quadrature(self.location)
        lift = [1] * (self.location.ndim - 1)
        values = self.location + self.scale * nodes.reshape(-1, *lift, nodes.shape[-1])
        return self._outcome(values), weights.reshape(-1, *lift, 1)

    def quantile(self, value: Tensor) -> Tensor:
        """Return the marginals' quantiles at one level, or at several, stacked in front."""
        if value.numel() > 1:
            return torch.stack([self.quantile(v) for v in value], dim=0)
        z = self.shapes.at_score(float(torch.special.ndtri(value.double())), self.location)
        return self._outcome(self.location + self.scale * z)

    def cdf(self, value: Tensor) -> Tensor:
        """Return P(Y ≤ value) of the marginals; several values are stacked in front."""
        if value.numel() > 1:
            return torch.stack([self.cdf(v) for v in value], dim=0)
        return torch.special.ndtr(self.shapes.score(self._standardised(value)))

    def density(self, value: Tensor) -> Tensor:
        """Return the marginals' densities; several values are stacked in front."""
        if value.numel() > 1:
            return torch.stack([self.density(v) for v in value], dim=0)
        with torch.enable_grad():
            v = self._standardised(value).detach().requires_grad_()
            probability = torch.special.ndtr(self.shapes.score(v))
            (slope,) = torch.autograd.grad(probability.sum(), v)
        return slope / self.scale

    def _standardised(self, value: Tensor) -> Tensor:
        if self.outcome is not None:
            raise NotImplementedError(
                "The inverse of a model's outcome transform is not known here: transform the value "
                "by it, and ask the posterior of the model without the transform."
            )
        return (value.to(self.location) - self.location) / self.scale


class CalibratedGaussianPosterior(GPyTorchPosterior):
    """A Gaussian posterior that recalibration left Gaussian."""

    def cdf(self, value: Tensor) -> Tensor:
        """Return P(Y ≤ value) of the marginals; several values are stacked in front."""
        if value.numel() > 1:
            return torch.stack([self.cdf(v) for v in value], dim=0)
        return torch.special.ndtr((value.to(self.mean) - self.mean) / self.variance.sqrt())


class CalibratedModel(Model, FantasizeMixin):
    """Any BoTorch model with Gaussian posteriors, recalibrated.

    Args:
        model: the fitted model, with one or more outputs.
        recalibrator: one that has seen the model's scores (:func:`loo_scores`, :func:`scores`), or
            one an output. None: identity, and the posteriors are the model's own.
    """

    def __init__(
        self, model: Model, recalibrator: Recalibrator | Sequence[Recalibrator] | None = None
    ) -> None:
        super().__init__()
        outputs = model.num_outputs
        if recalibrator is None:
            recalibrator = IdentityRecalibrator()
        many = [recalibrator] * outputs if isinstance(recalibrator, Recalibrator) else recalibrator
        if len(many) != outputs:
            raise ValueError(
                f"One recalibrator, or one an output, is needed, but got {len(many)} for a model "
                f"with {outputs} outputs."
            )
        self.model, self.recalibrators = model, tuple(many)
        self.shapes = TorchShapes([one.shape for one in many])

    @classmethod
    def from_leave_one_out(cls, model: Model, recalibrator: Recalibrator) -> CalibratedModel:
        """Return the model with a recalibrator an output, taught by leave-one-out scores."""
        return cls(model, [recalibrator.update_scores(z) for z in loo_scores(model)])

    @property
    def num_outputs(self) -> int:
        """How many outputs the model has."""
        return int(self.model.num_outputs)

    @property
    def batch_shape(self) -> torch.Size:
        """The model's batch shape."""
        return self.model.batch_shape

    @property
    def likelihood(self) -> Any:
        """The model's likelihood, which fantasies ask for."""
        return self.model.likelihood

    def posterior(
        self,
        X: Tensor,
        output_indices: list[int] | None = None,
        observation_noise: bool | Tensor = False,
        posterior_transform: PosteriorTransform | None = None,
    ) -> Posterior:
        """Return the calibrated posterior at the points X."""
        if self.shapes.identity:
            return self.model.posterior(X, output_indices, observation_noise, posterior_transform)
        if output_indices is not None:  # not left to the model: some forget their transform then
            part = self.subset_output(output_indices)
            return part.posterior(X, None, observation_noise, posterior_transform)
        raw = self.model.posterior(X, observation_noise=observation_noise)
        result = _calibrated(raw, self.shapes)
        return result if posterior_transform is None else _transformed(result, posterior_transform)

    def condition_on_observations(self, X: Tensor, Y: Tensor, **kwargs: Any) -> CalibratedModel:
        """Return the model after outcomes Y at X, recalibrated as before."""
        conditioned = self.model.condition_on_observations(X, Y, **kwargs)
        return CalibratedModel(conditioned, self.recalibrators)

    def transform_inputs(self, X: Tensor, input_transform: Any = None) -> Tensor:
        """Return inputs as the model transforms them."""
        return self.model.transform_inputs(X, input_transform)

    def subset_output(self, idcs: list[int]) -> CalibratedModel:
        """Return the model of some outputs."""
        kept = [self.recalibrators[index] for index in idcs]
        return CalibratedModel(self.model.subset_output(idcs), kept)


def loo_scores(model: Model) -> list[FloatArray]:
    """Return the normal scores of a fitted model's outcomes under leave-one-out, one row an output.

    Hyper-parameters stay as they are: all scores come from one matrix inverse, on the model's
    device (:func:`botorch.cross_validation.loo_cv`).
    """
    if isinstance(model, ModelListGP):
        return [row for part in model.models for row in loo_scores(part)]
    with torch.no_grad():
        found = loo_cv(model, untransform=False)  # in the units in which the model is Gaussian
        _refuse_mixture(found.posterior)
        z = (found.observed_Y - found.posterior.mean) / found.posterior.variance.sqrt()
    return _rows(z)


def scores(model: Model, X: Tensor, Y: Tensor) -> list[FloatArray]:
    """Return the normal scores of outcomes Y (n, outputs) at X (n, d), one row an output.

    Called before the model learns of them, these are the scores of the online calibration set, to
    which the guarantee of online recalibration applies.
    """
    if isinstance(model, CalibratedModel):
        model = model.model  # a recalibrator learns from raw forecasts
    if Y.shape != (*X.shape[:-1], model.num_outputs):
        raise ValueError(
            f"`Y` must have shape {(*X.shape[:-1], model.num_outputs)}, but got {tuple(Y.shape)}."
        )
    with torch.no_grad():
        posterior = model.posterior(X, observation_noise=True)
        parts = posterior.posteriors if isinstance(posterior, PosteriorList) else [posterior]
        if any(isinstance(part, TransformedPosterior) for part in parts):
            if len(parts) > 1:
                raise NotImplementedError(
                    "Scores of a list of models with outcome transforms: ask for each of them."
                )
            posterior, Y = posterior._posterior, model.outcome_transform(Y, X=X)[0]
        _refuse_mixture(posterior)
        z = (Y - posterior.mean) / posterior.variance.sqrt()
    return _rows(z)


def _rows(z: Tensor) -> list[FloatArray]:
    return [row.double().cpu().numpy() for row in z.reshape(-1, z.shape[-1]).T]


def _refuse_mixture(posterior: Posterior) -> None:
    if isinstance(posterior, GaussianMixturePosterior) or not hasattr(posterior, "variance"):
        raise NotImplementedError(
            f"A posterior with Gaussian marginals is needed, but the model returned a "
            f"{type(posterior).__name__}; a fully Bayesian model or an ensemble can be "
            "recalibrated as a calibrant model, from its quantiles."
        )


def _calibrated(posterior: Posterior, shapes: TorchShapes) -> Posterior:
    """Return the recalibrated posterior, in the simplest form that is exact."""
    if isinstance(posterior, PosteriorList):
        counts = [part._extended_shape()[-1] for part in posterior.posteriors]
        ends = torch.tensor(counts).cumsum(0).tolist()
        parts = [
            _calibrated(part, shapes.subset(range(end - count, end)))
            for part, count, end in zip(posterior.posteriors, counts, ends, strict=True)
        ]
        return PosteriorList(*parts)
    if type(posterior) is TransformedPosterior:  # of a model with a non-linear outcome transform
        inner, outcome = posterior._posterior, posterior._sample_transform
        if type(inner) is GPyTorchPosterior and shapes.gaussian:
            gaussian = _stretched(inner, shapes)
            means, variances = posterior._mean_transform, posterior._variance_transform
            return TransformedPosterior(gaussian, outcome, means, variances)
        _refuse_mixture(inner)
        return CalibratedPosterior(inner, shapes, outcome)
    _refuse_mixture(posterior)
    if not isinstance(posterior, GPyTorchPosterior):
        raise NotImplementedError(
            f"A GPyTorchPosterior is needed, but the model returned a {type(posterior).__name__}."
        )
    if type(posterior) is GPyTorchPosterior and shapes.gaussian:
        return _stretched(posterior, shapes)
    return CalibratedPosterior(posterior, shapes)


def _stretched(posterior: GPyTorchPosterior, shapes: TorchShapes) -> CalibratedGaussianPosterior:
    """Return the Gaussian posterior with means μ + a·σ and stds b·σ, for shapes N(a, b²)."""
    joint = posterior.distribution
    location, scale = _location_scale(posterior)
    shift, stretch = shapes.mean(location), shapes.std(location)
    mean = location + shift * scale
    if not isinstance(joint, MultitaskMultivariateNormal):
        covariance = joint.lazy_covariance_matrix * stretch**2
        return CalibratedGaussianPosterior(type(joint)(mean.squeeze(-1), covariance))
    points = mean.shape[-2]
    each = stretch.repeat(points) if joint._interleaved else stretch.repeat_interleave(points)
    covariance = joint.covariance_matrix * each[:, None] * each
    return CalibratedGaussianPosterior(
        MultitaskMultivariateNormal(mean, covariance, interleaved=joint._interleaved)
    )


def _location_scale(posterior: GPyTorchPosterior) -> tuple[Tensor, Tensor]:
    mean, variance = posterior.mean, posterior.variance
    if not torch.isfinite(mean).all() or not torch.isfinite(variance).all():
        raise ValueError(
            "A posterior's mean and variance must be finite, but the model returned NaN or inf; "
            "look at its training data and at its fit."
        )
    # A variance of zero, or less by rounding, is a forecast that is sure of itself.
    return mean, variance.clamp_min(torch.finfo(variance.dtype).tiny).sqrt()


def _transformed(posterior: Posterior, transform: PosteriorTransform) -> Posterior:
    """Return what a posterior transform makes of a calibrated posterior, if that is known."""
    if not isinstance(posterior, CalibratedPosterior):
        return transform(posterior)
    linear = isinstance(transform, ScalarizedPosteriorTransform)
    if not linear or transform.weights.numel() > 1 or posterior.outcome is not None:
        raise NotImplementedError(
            f"What {type(transform).__name__} makes of several non-Gaussian outputs has no closed "
            "form; use an acquisition that draws samples, with an MC objective such as "
            "LinearMCObjective, or a GaussianRecalibrator."
        )
    shapes = posterior.shapes
    if transform.weights.item() < 0.0:
        shapes = shapes.mirrored()
    return CalibratedPosterior(transform(posterior._posterior), shapes)
