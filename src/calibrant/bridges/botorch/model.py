"""BoTorch models with calibrated posteriors. Needs BoTorch (``pip install botorch``).

    model = SingleTaskGP(X, Y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    calibrated = CalibratedModel.from_leave_one_out(model, LeaderRecalibrator())
    optimize_acqf(qLogExpectedImprovement(calibrated, Y.max()), …)

For what a calibrated posterior is, see :mod:`calibrant.bridges.botorch.posterior`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from botorch.acquisition.objective import PosteriorTransform
from botorch.cross_validation import loo_cv
from botorch.exceptions.errors import BotorchError
from botorch.models.model import FantasizeMixin, Model
from botorch.models.model_list_gp_regression import ModelListGP
from botorch.posteriors import Posterior
from torch import Tensor

from calibrant.bridges.botorch import private
from calibrant.bridges.botorch.posterior import (
    calibrated,
    refuse_other_outputs,
    refuse_unless_gaussian,
    transformed,
    unchanged,
)
from calibrant.bridges.botorch.torch_residual import TorchResiduals
from calibrant.core.typing import FloatArray
from calibrant.recalibration import IdentityRecalibrator, Recalibrator


class CalibratedModel(Model, FantasizeMixin):
    """A BoTorch model with Gaussian posteriors, recalibrated.

    Args:
        model: the fitted model, with one or more outputs.
        recalibrator: one that has learned from the model's scores (:func:`loo_scores`,
            :func:`scores`), or one per output. With None the posteriors are the model's own.
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
                f"One recalibrator, or one per output, is needed, but got {len(many)} for a model "
                f"with {outputs} outputs."
            )
        self.model, self.recalibrators = model, tuple(many)
        self.residuals = TorchResiduals([one.residual for one in many])

    @classmethod
    def from_leave_one_out(cls, model: Model, recalibrator: Recalibrator) -> CalibratedModel:
        """Return the model with one recalibrator per output, fitted to leave-one-out scores."""
        return cls(model, [recalibrator.update_scores(z) for z in loo_scores(model)])

    @property
    def num_outputs(self) -> int:
        """The number of outputs."""
        return int(self.model.num_outputs)

    @property
    def batch_shape(self) -> torch.Size:
        """The model's batch shape."""
        return self.model.batch_shape

    @property
    def likelihood(self) -> Any:
        """The model's likelihood, which BoTorch's fantasies need."""
        return self.model.likelihood

    def posterior(
        self,
        X: Tensor,
        output_indices: list[int] | None = None,
        observation_noise: bool | Tensor = False,
        posterior_transform: PosteriorTransform | None = None,
    ) -> Posterior:
        """Return the calibrated posterior at the points X."""
        if output_indices is not None:  # not by the model itself: some drop their transform then
            part = self.subset_output([index % self.num_outputs for index in output_indices])
            return part.posterior(X, None, observation_noise, posterior_transform)
        # Models without noise do not accept the argument.
        noise = {} if observation_noise is False else {"observation_noise": observation_noise}
        if self.residuals.identity:
            raw = self.model.posterior(X, posterior_transform=posterior_transform, **noise)
            return unchanged(raw, self.residuals)
        result = calibrated(self.model.posterior(X, **noise), self.residuals)
        return result if posterior_transform is None else transformed(result, posterior_transform)

    def condition_on_observations(self, X: Tensor, Y: Tensor, **kwargs: Any) -> CalibratedModel:
        """Return the model after outcomes Y at X, recalibrated as before."""
        conditioned = self.model.condition_on_observations(X, Y, **kwargs)
        return CalibratedModel(conditioned, self.recalibrators)

    def fantasize(self, X: Tensor, sampler: Any, **kwargs: Any) -> CalibratedModel:
        """Return the model after outcomes drawn at X, recalibrated as before."""
        if not isinstance(self.model, ModelListGP):
            fantasy: CalibratedModel = super().fantasize(X, sampler, **kwargs)
            return fantasy
        samplers = getattr(sampler, "samplers", [sampler] * len(self.model.models))
        parts = [
            CalibratedModel(part, recalibrators).fantasize(X, one, **kwargs).model
            for part, recalibrators, one in zip(
                self.model.models, self._recalibrators_of_parts(), samplers, strict=True
            )
        ]
        return CalibratedModel(type(self.model)(*parts), self.recalibrators)

    def _recalibrators_of_parts(self) -> list[tuple[Recalibrator, ...]]:
        left = list(self.recalibrators)
        return [tuple(left.pop(0) for _ in range(m.num_outputs)) for m in self.model.models]

    def transform_inputs(self, X: Tensor, input_transform: Any = None) -> Tensor:
        """Return the inputs after the model's input transform."""
        return self.model.transform_inputs(X, input_transform)

    def subset_output(self, idcs: list[int]) -> CalibratedModel:
        """Return the model of a subset of the outputs."""
        kept = [self.recalibrators[index] for index in idcs]
        return CalibratedModel(self.model.subset_output(idcs), kept)


def loo_scores(model: Model) -> list[FloatArray]:
    """Return the leave-one-out normal scores of a fitted model's outcomes, one row per output.

    Hyper-parameters are kept, so all scores come from one matrix inverse, on the model's device
    (:func:`botorch.cross_validation.loo_cv`). The scores of a batch of models are pooled.
    """
    model = _raw(model)
    if isinstance(model, ModelListGP):
        return [row for part in model.models for row in loo_scores(part)]
    with torch.no_grad():
        try:
            found = loo_cv(model, untransform=False)  # in the units in which the model is Gaussian
        except (BotorchError, RuntimeError, ValueError) as error:
            raise NotImplementedError(
                f"BoTorch has no leave-one-out for {type(model).__name__} ({error}); use `scores` "
                "of outcomes that the model has not seen."
            ) from error
        refuse_unless_gaussian(found.posterior)
        z = (found.observed_Y - found.posterior.mean) / found.posterior.variance.sqrt()
    return _rows(z)


def scores(model: Model, X: Tensor, Y: Tensor) -> list[FloatArray]:
    """Return the normal scores of outcomes Y (n, outputs) at X (n, d), one row per output.

    If the model has not yet been trained on these outcomes, they are scores of the online
    calibration set, for which the guarantee of online recalibration holds: after T outcomes a share
    within 1/(rate·T), so that it says nothing before 1/rate of them.
    """
    model = _raw(model)
    if Y.shape != (*X.shape[:-1], model.num_outputs):
        raise ValueError(
            f"`Y` must have shape {(*X.shape[:-1], model.num_outputs)}, but got {tuple(Y.shape)}."
        )
    if isinstance(model, ModelListGP):
        columns = Y.split([part.num_outputs for part in model.models], dim=-1)
        pairs = zip(model.models, columns, strict=True)
        return [row for part, column in pairs for row in scores(part, X, column)]
    with torch.no_grad():
        bare, transform = private.without_outcome_transform(model)
        posterior = bare.posterior(X, observation_noise=True)
        refuse_unless_gaussian(posterior)
        refuse_other_outputs(posterior, bare.num_outputs)
        targets = Y if transform is None else transform(Y, X=X)[0]
        z = (targets - posterior.mean) / posterior.variance.sqrt()
    return _rows(z)


def _raw(model: Model) -> Model:
    """Return the model inside, because recalibrators learn from raw forecasts."""
    return model.model if isinstance(model, CalibratedModel) else model


def _rows(z: Tensor) -> list[FloatArray]:
    return [row.double().cpu().numpy() for row in z.reshape(-1, z.shape[-1]).T]
