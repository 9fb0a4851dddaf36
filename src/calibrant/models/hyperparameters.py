"""The hyper-parameters of a Gaussian process, by name, and as the vector that a search moves.

All of them are natural logarithms: they are positive, and known up to a factor. A layout says which
entry of the vector is which, once; nobody else counts entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from calibrant.core.typing import FloatArray
from calibrant.models.kernels.base import Kernel


class Hyperparameters(NamedTuple):
    """Logarithms of hyper-parameters, or derivatives by them."""

    kernel: FloatArray  # the kernel's own, in the order of its `parameter_names`
    log_signal: float  # of the variance of the function
    log_noise: float | None  # of the variance of outcomes around it; None where that is given

    @property
    def signal(self) -> float:
        """The prior variance of the function, in the model's units."""
        return float(np.exp(self.log_signal))

    @property
    def noise(self) -> float:
        """The variance of outcomes around the function, where it was learned."""
        if self.log_noise is None:
            raise ValueError("The noise was given and not learned: there is no parameter of it.")
        return float(np.exp(self.log_noise))


@dataclass(frozen=True)
class Layout:
    """Which entry of a vector is which hyper-parameter.

    Args:
        kernel_names: the kernel's own parameters; signal, and noise where it is learned, follow.
        learns_noise: whether the noise is a parameter.
    """

    kernel_names: tuple[str, ...]
    learns_noise: bool

    @classmethod
    def of(cls, kernel: Kernel, dim: int, learns_noise: bool) -> Layout:
        """Return the layout of a kernel's parameters on so many inputs."""
        return cls(tuple(kernel.parameter_names(dim)), learns_noise)

    @property
    def names(self) -> list[str]:
        """The name of each entry."""
        return [*self.kernel_names, "signal", *(["noise"] if self.learns_noise else [])]

    @property
    def size(self) -> int:
        """The number of entries."""
        return len(self.kernel_names) + 1 + self.learns_noise

    def split(self, vector: FloatArray) -> Hyperparameters:
        """Return the parameters that a vector holds."""
        count = len(self.kernel_names)
        noise = vector[count + 1] if self.learns_noise else None
        return Hyperparameters(vector[:count], vector[count], noise)

    def join(self, parameters: Hyperparameters) -> FloatArray:
        """Return the vector of parameters, or of derivatives by them."""
        vector = np.empty(self.size)
        count = len(self.kernel_names)
        vector[:count] = parameters.kernel
        vector[count] = parameters.log_signal
        if parameters.log_noise is not None:
            vector[count + 1] = parameters.log_noise
        return vector
