"""Small torch networks, several trained at once as batched matrices.

Activations are sines: like a lengthscale, the size of the first layer's weights sets in advance how
fast functions vary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.forecasts.output_maps.power import MonotoneMap, Outputs

try:
    import torch as torch  # networks.py imports it from here, for the message below
except ImportError as error:
    raise ImportError("Neural networks need torch: pip install torch.") from error

_BATCH = 1024  # rows per training step; if there are fewer outcomes, each step uses all
_MOMENTUM, _MEMORY = 0.9, 0.999  # Adam's

Layers = tuple[Any, ...]  # tensors (members, 1 + inputs, outputs), the biases in row 0


@dataclass(frozen=True, kw_only=True)
class Networks:
    """The settings and the training of networks, several at once as batched matrices."""

    hidden: tuple[int, ...]
    frequency: float = 3.0
    steps: int = 200
    rate: float = 0.01
    decay: float = 1e-4
    outputs: Outputs | MonotoneMap | str = Outputs.YEO_JOHNSON
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(self.hidden))
        if not self.hidden or min(self.hidden) < 1:
            raise ValueError(f"`hidden` must be widths of 1 or more, but got {self.hidden}.")
        validate.at_least("steps", self.steps, 1)
        validate.positive("frequency", self.frequency)
        validate.positive("rate", self.rate)
        validate.not_negative("decay", self.decay)
        if not isinstance(self.outputs, MonotoneMap):
            object.__setattr__(self, "outputs", validate.choice("outputs", Outputs, self.outputs))
        if self.outputs is Outputs.TANH:
            raise ValueError(
                '`outputs="tanh"` is fitted together with a GaussianProcess; a network needs '
                "another output map."
            )
        try:
            torch.zeros(1, dtype=torch.float64, device=self.device).cpu()
        except (AssertionError, RuntimeError, TypeError) as error:
            raise ValueError(
                f"`device` must be one that torch can use here with float64, but got "
                f'{self.device!r}; device="cpu" always works.'
            ) from error

    def trained(
        self,
        X: FloatArray,
        v: FloatArray,
        heads: int,
        loss: Callable[[Any, Any], Any],
        seen: np.ndarray,
    ) -> Layers:
        """Return networks trained by AdamW to minimise the mean loss over the rows they see.

        Args:
            X, v: inputs, and outcomes in the model's units.
            heads: the number of outputs of a network.
            loss: from outputs (members, rows, heads) and outcomes to losses (members, rows).
            seen: which rows each member sees, (members, n).
        """
        # Random numbers come from NumPy: the same on each device, without touching torch's seed.
        rng = np.random.default_rng([self.seed, v.size])
        members, sizes = seen.shape[0], (X.shape[1], *self.hidden, heads)
        start = [rng.standard_normal((members, 1 + a, b)) for a, b in pairwise(sizes)]
        for matrix in start:
            matrix[:, 1:] /= np.sqrt(matrix.shape[1] - 1)
        start[0][:, 1:] *= self.frequency
        start[-1][:, :1] = 0.0
        with torch.inference_mode(False), torch.enable_grad():  # whatever mode the caller is in
            inputs, targets = tensor(X, self.device), tensor(v, self.device)
            weights = tensor(seen.astype(float), self.device)
            flat = np.concatenate([matrix.reshape(members, -1) for matrix in start], axis=1)
            theta = tensor(flat, self.device).requires_grad_()
            slope, square = torch.zeros_like(theta), torch.zeros_like(theta)

            def layers() -> Layers:
                parts = theta.split([matrix[0].size for matrix in start], dim=1)
                return tuple(p.reshape(m.shape) for p, m in zip(parts, start, strict=True))

            x, t, w = inputs, targets, weights
            for step in range(self.steps):
                if v.size > _BATCH:
                    rows = tensor(rng.integers(v.size, size=(members, _BATCH)), self.device)
                    x, t, w = inputs[rows], targets[rows], weights.gather(1, rows)
                losses = w * loss(last_layer(layers(), x), t)
                (gradient,) = torch.autograd.grad(losses.mean(dim=1).sum(), theta)
                rate = self.rate * (1.0 - step / self.steps)
                # AdamW by hand: importing torch.optim, with its compiler, takes a second.
                with torch.no_grad():
                    slope.lerp_(gradient, 1.0 - _MOMENTUM)
                    square.lerp_(gradient**2, 1.0 - _MEMORY)
                    size = (square / (1.0 - _MEMORY ** (step + 1))).sqrt_().add_(1e-8)
                    theta.mul_(1.0 - rate * self.decay)
                    theta.addcdiv_(slope, size, value=-rate / (1.0 - _MOMENTUM ** (step + 1)))
            theta = theta.detach()
            if not theta.isfinite().all():
                raise ValueError(f"Training with rate={self.rate} diverged; lower `rate`.")
            return layers()


def hidden_layer(layers: Layers, x: Any) -> Any:
    """Return the last hidden layer, (members, n, width)."""
    h = (2.0 * x - 1.0).expand(layers[0].shape[0], *x.shape[-2:])
    for layer in layers[:-1]:
        h = torch.sin(torch.baddbmm(layer[:, :1], h, layer[:, 1:]))
    return h


def last_layer(layers: Layers, x: Any) -> Any:
    """Return the outputs of the last layer, (members, n, heads)."""
    return torch.baddbmm(layers[-1][:, :1], hidden_layer(layers, x), layers[-1][:, 1:])


def points(layers: Layers, X: ArrayLike) -> Any:
    """Return validated points (m, d) on the device of the layers."""
    points, columns = np.atleast_2d(validate.finite("X", X)), layers[0].shape[1] - 1
    if points.ndim != 2 or points.shape[1] != columns:
        raise ValueError(f"`X` must have {columns} columns, but got shape {points.shape}.")
    return tensor(points, layers[0].device)


def tensor(array: np.ndarray, device: Any) -> Any:
    """Return an array on a device."""
    return torch.tensor(np.ascontiguousarray(array), device=device)  # as torch requires
