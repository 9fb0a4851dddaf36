"""BoTorch's, GPyTorch's and torch's private names: all that calibrant uses of them.

What each function relies on is held in ``tests/bridges/test_botorch.py`` against the installed
versions.
"""

from __future__ import annotations

from typing import Any

from botorch.models.model import Model
from botorch.posteriors import Posterior, TransformedPosterior
from gpytorch.distributions import MultitaskMultivariateNormal
from torch import Tensor, nn

TRIED_WITH = ("0.18",)  # versions of BoTorch


def inner_posterior(posterior: TransformedPosterior) -> Posterior:
    """Return what a posterior transforms."""
    return posterior._posterior


def sample_transform(posterior: TransformedPosterior, samples: Tensor) -> Tensor:
    """Return what a posterior makes of samples of the inner one."""
    return posterior._sample_transform(samples)


def moment_transforms(posterior: TransformedPosterior) -> tuple[Any, Any]:
    """Return how a posterior gets its mean and variance from the inner ones, where it knows."""
    return posterior._mean_transform, posterior._variance_transform


def outputs_of(posterior: Posterior) -> int:
    """Return the number of a posterior's outputs."""
    return int(posterior._extended_shape()[-1])


def is_interleaved(joint: MultitaskMultivariateNormal) -> bool:
    """Return whether covariances are ordered by points and then by outputs."""
    return bool(joint._interleaved)


def is_linear(outcome_transform: Any) -> bool:
    """Return whether an outcome transform leaves a Gaussian posterior Gaussian."""
    return bool(outcome_transform._is_linear)


def without_outcome_transform(model: Model) -> tuple[Model, Any]:
    """Return a copy of the model in whose units it is Gaussian, and the transform left out.

    The copy shares the tensors of the model's parameters and data, but no module: whatever happens
    to it, such as evaluation mode, does not happen to the model.
    """
    bare = _copied(model, {})
    transform = bare._modules.pop("outcome_transform", None)
    return bare, transform


def _copied(module: nn.Module, known: dict[int, nn.Module]) -> Any:
    """Return a copy of a module and of those inside it; one that occurs twice is copied once.

    By hand: a GPyTorch kernel and its ``copy.copy`` share their attributes.
    """
    if id(module) not in known:
        twin = known[id(module)] = object.__new__(type(module))
        twin.__dict__.update(module.__dict__)
        twin.__dict__["_modules"] = {
            name: None if part is None else _copied(part, known)
            for name, part in module._modules.items()
        }
    return known[id(module)]
