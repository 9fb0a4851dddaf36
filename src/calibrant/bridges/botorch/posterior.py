"""Calibrated posteriors for BoTorch: Gaussian posteriors read through recalibrators' residuals.

A posterior with means μ, stds σ and correlated normal scores z becomes μ + σ·T(z), where T maps
scores to values of the residual. The marginals are the calibrated ones, Q∘R, and the scores keep
their correlations (a Gaussian copula). If all residuals are Gaussian, the result is a Gaussian
posterior again, of a subclass of BoTorch's.
"""

from __future__ import annotations

import torch
from botorch.acquisition.objective import PosteriorTransform, ScalarizedPosteriorTransform
from botorch.posteriors import GPyTorchPosterior, Posterior, PosteriorList, TransformedPosterior
from botorch.posteriors.fully_bayesian import GaussianMixturePosterior
from gpytorch.distributions import MultitaskMultivariateNormal
from torch import Tensor

from calibrant.bridges.botorch import private
from calibrant.bridges.botorch.torch_residual import TorchResiduals
from calibrant.forecasts.normal import STANDARD_NORMAL


class CalibratedPosterior(TransformedPosterior):
    """A Gaussian posterior read through the residuals of recalibrators, one per output.

    BoTorch's analytic acquisitions use mean and variance only, which do not determine this
    posterior. Use those of :mod:`calibrant.bridges.botorch.acquisition`, or any that draws samples.

    Args:
        posterior: the posterior to recalibrate; its marginals must be Gaussian.
        residuals: the residuals of its outputs.
        outcome: BoTorch's own posterior of a model with a non-linear outcome transform, an
            increasing map that is applied last.
    """

    def __init__(
        self,
        posterior: GPyTorchPosterior,
        residuals: TorchResiduals,
        outcome: TransformedPosterior | None = None,
    ) -> None:
        super().__init__(posterior, self._recalibrated)
        self.residuals, self.outcome = residuals, outcome
        if outcome is not None and residuals.identity:  # a Gaussian: BoTorch may have closed forms
            self._mean_transform, self._variance_transform = private.moment_transforms(outcome)
        self.location, self.scale = _location_scale(posterior)

    def _recalibrated(self, samples: Tensor) -> Tensor:
        if self.residuals.identity:
            return self._outcome(samples)
        z = (samples - self.location) / self.scale
        return self._outcome(self.location + self.scale * self.residuals.transport(z))

    def _outcome(self, values: Tensor) -> Tensor:
        return values if self.outcome is None else private.sample_transform(self.outcome, values)

    @property
    def mean(self) -> Tensor:
        """The calibrated mean."""
        if self._mean_transform is not None:
            return super().mean
        if self.outcome is None:
            return self.location + self.scale * self.residuals.mean(self.location)
        values, weights = self._nodes()
        return (weights * values).sum(dim=0)

    @property
    def variance(self) -> Tensor:
        """The calibrated variance."""
        if self._variance_transform is not None:
            return super().variance
        if self.outcome is None:
            return (self.scale * self.residuals.std(self.scale)) ** 2
        values, weights = self._nodes()
        return (weights * (values - self.mean) ** 2).sum(dim=0)

    def _nodes(self) -> tuple[Tensor, Tensor]:
        nodes, weights = self.residuals.quadrature(self.location)
        lift = [1] * (self.location.ndim - 1)
        values = self.location + self.scale * nodes.reshape(-1, *lift, nodes.shape[-1])
        return self._outcome(values), weights.reshape(-1, *lift, 1)

    def quantile(self, value: Tensor) -> Tensor:
        """Return the quantiles of the marginals; several levels are stacked in front."""
        if value.numel() > 1:
            return torch.stack([self.quantile(v) for v in value], dim=0)
        z = self.residuals.at_score(float(torch.special.ndtri(value.double())), self.location)
        return self._outcome(self.location + self.scale * z)

    def cdf(self, value: Tensor) -> Tensor:
        """Return P(Y ≤ value) of the marginals; several values are stacked in front."""
        if value.numel() > 1:
            return torch.stack([self.cdf(v) for v in value], dim=0)
        return self.residuals.cdf(self._standardised(value))

    def density(self, value: Tensor) -> Tensor:
        """Return the marginals' densities, without gradients; several are stacked in front."""
        if value.numel() > 1:
            return torch.stack([self.density(v) for v in value], dim=0)
        return self.residuals.pdf(self._standardised(value)) / self.scale.detach()

    def _standardised(self, value: Tensor) -> Tensor:
        if self.outcome is not None:
            raise NotImplementedError(
                "The inverse of the model's outcome transform is not known here; transform the "
                "value, and ask the posterior of the model without the transform."
            )
        return (value.to(self.location) - self.location) / self.scale


class CalibratedGaussianPosterior(GPyTorchPosterior):
    """A Gaussian posterior that is still Gaussian after recalibration."""

    def cdf(self, value: Tensor) -> Tensor:
        """Return P(Y ≤ value) of the marginals; several values are stacked in front."""
        if value.numel() > 1:
            return torch.stack([self.cdf(v) for v in value], dim=0)
        return torch.special.ndtr((value.to(self.mean) - self.mean) / self.variance.sqrt())


def is_gaussian(posterior: Posterior) -> bool:
    """Whether all marginals are Gaussian, possibly under an outcome transform."""
    if isinstance(posterior, PosteriorList):
        return all(is_gaussian(part) for part in posterior.posteriors)
    if type(posterior) is TransformedPosterior:
        return is_gaussian(private.inner_posterior(posterior))
    mixture = isinstance(posterior, GaussianMixturePosterior)
    return isinstance(posterior, GPyTorchPosterior) and not mixture


def refuse_unless_gaussian(posterior: Posterior) -> None:
    """Raise if the marginals are not Gaussian."""
    if not is_gaussian(posterior):
        raise NotImplementedError(
            f"A posterior with Gaussian marginals is needed, but the model returned a "
            f"{type(posterior).__name__}; a fully Bayesian model or an ensemble can be "
            "recalibrated as a calibrant model, from its quantiles."
        )


def refuse_other_outputs(posterior: Posterior, outputs: int) -> None:
    """Raise if a posterior and its model differ in the number of outputs."""
    found = private.outputs_of(posterior)
    if found != outputs:
        raise NotImplementedError(
            f"The model has {outputs} outputs, but its posterior has {found}: with the task as a "
            "column of X it is unknown which recalibrator applies. Leave that column out."
        )


def calibrated(posterior: Posterior, residuals: TorchResiduals) -> Posterior:
    """Return the recalibrated posterior, in the simplest exact form."""
    refuse_unless_gaussian(posterior)
    refuse_other_outputs(posterior, len(residuals.residuals))
    if isinstance(posterior, PosteriorList):
        counts = [private.outputs_of(part) for part in posterior.posteriors]
        ends = torch.tensor(counts).cumsum(0).tolist()
        parts = [
            calibrated(part, residuals.subset(range(end - count, end)))
            for part, count, end in zip(posterior.posteriors, counts, ends, strict=True)
        ]
        return PosteriorList(*parts)
    if isinstance(posterior, TransformedPosterior):  # of a non-linear outcome transform
        inner = private.inner_posterior(posterior)
        if not isinstance(inner, GPyTorchPosterior):
            raise NotImplementedError(
                "Nested non-linear outcome transforms are not supported; combine them into one."
            )
        if residuals.gaussian and not residuals.identity and type(inner) is GPyTorchPosterior:
            unchanged = TorchResiduals([STANDARD_NORMAL] * len(residuals.residuals))
            return CalibratedPosterior(_stretched(inner, residuals), unchanged, posterior)
        return CalibratedPosterior(inner, residuals, posterior)
    if type(posterior) is GPyTorchPosterior and residuals.gaussian:
        return _stretched(posterior, residuals)
    return CalibratedPosterior(posterior, residuals)


def unchanged(posterior: Posterior, residuals: TorchResiduals) -> Posterior:
    """Return the same posterior with the interface of a calibrated one, where that is possible."""
    if type(posterior) is GPyTorchPosterior:
        return CalibratedGaussianPosterior(posterior.distribution)
    if type(posterior) is TransformedPosterior and is_gaussian(posterior):
        return calibrated(posterior, residuals)
    return posterior


def _stretched(
    posterior: GPyTorchPosterior, residuals: TorchResiduals
) -> CalibratedGaussianPosterior:
    """Return the Gaussian posterior with means μ + a·σ and stds b·σ, for residuals N(a, b²)."""
    joint = posterior.distribution
    location, scale = _location_scale(posterior)
    shift, stretch = residuals.mean(location), residuals.std(location)
    mean = location + shift * scale
    if not isinstance(joint, MultitaskMultivariateNormal):
        covariance = joint.lazy_covariance_matrix * stretch**2
        return CalibratedGaussianPosterior(type(joint)(mean.squeeze(-1), covariance))
    points = mean.shape[-2]
    interleaved = private.is_interleaved(joint)
    each = stretch.repeat(points) if interleaved else stretch.repeat_interleave(points)
    covariance = joint.covariance_matrix * each[:, None] * each
    return CalibratedGaussianPosterior(
        MultitaskMultivariateNormal(mean, covariance, interleaved=interleaved)
    )


def _location_scale(posterior: GPyTorchPosterior) -> tuple[Tensor, Tensor]:
    mean, variance = posterior.mean, posterior.variance
    if not torch.isfinite(mean).all() or not torch.isfinite(variance).all():
        raise ValueError(
            "A posterior's mean and variance must be finite, but the model returned NaN or inf; "
            "check its training data and its fit."
        )
    # A variance of zero, or below it by rounding, is a forecast without uncertainty.
    return mean, variance.clamp_min(torch.finfo(variance.dtype).tiny).sqrt()


def transformed(posterior: Posterior, transform: PosteriorTransform) -> Posterior:
    """Return a calibrated posterior after a posterior transform, or raise if that is unknown."""
    parts = posterior.posteriors if isinstance(posterior, PosteriorList) else [posterior]
    if not any(isinstance(part, CalibratedPosterior) for part in parts):
        return transform(posterior)
    linear = isinstance(transform, ScalarizedPosteriorTransform)
    single = len(parts) == 1 and linear and transform.weights.numel() == 1
    if not single or posterior.outcome is not None:
        raise NotImplementedError(
            f"{type(transform).__name__} of non-Gaussian outputs has no closed form; "
            "use an acquisition that draws samples, with an MC objective such as "
            "LinearMCObjective, or a GaussianRecalibrator."
        )
    residuals = posterior.residuals
    if transform.weights.item() < 0.0:
        residuals = residuals.mirrored()
    return CalibratedPosterior(transform(private.inner_posterior(posterior)), residuals)
