"""The paper's image classifier: six settings of a small convolutional network, and its test error.

Everything a training step needs lives on the device: pictures, order of the epoch, position in it,
learning rate. A step is then the same sequence of kernels every time, which a GPU records once and
replays (a CUDA graph) without waiting for Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.paper.data import Images
from calibrant.core import Axis, validate

EPOCHS = 5  # enough for good settings to show, short enough for thousands of trainings
MOMENTUM = 0.9  # the usual one
CLASSES = 10

DEVIATIONS = f"""\
The paper gives the six settings with their ranges, and the two data sets. The rest is our choice:
- 10,000 training and 2,000 test pictures of each data set, not all of them: errors are higher. The
  data files that were used hold no more (`cifar10_10k_2k.npz`, `svhn_10k_2k.npz`).
- Two 3×3 convolutions with as many channels as `conv_channels` says, each followed by ReLU and 2×2
  max-pooling; a fully connected layer of `fc_channels` units, ReLU, and the output layer.
- Cross-entropy, SGD with momentum {MOMENTUM}; at step t the rate is learning_rate / (1 + decay·t);
  l2 is weight decay on all parameters.
- {EPOCHS} epochs, no augmentation, no early stopping; an epoch leaves out what fills no batch.
- On a GPU, bfloat16 arithmetic with float32 parameters.
- A training that diverges scores the error of what it predicts, about 0.9.
- The methods of a repetition share the training of a setting that several of them try: the same
  seed draws its first weights and the order of pictures.
"""


class Steps(NamedTuple):
    """A setting in steps: low, low + step, …, high."""

    low: int
    high: int
    step: int

    def axis(self) -> Axis:
        """Return the coordinate: value i in the middle of part i of [0, 1]."""
        count = len(self.values)
        return Axis(tuple((i + 0.5) / count for i in range(count)))

    def value(self, u: float) -> int:
        """Return the setting at a coordinate."""
        count = len(self.values)
        return self.values[min(int(u * count), count - 1)]

    @property
    def values(self) -> range:
        """The settings allowed."""
        return range(self.low, self.high + 1, self.step)


class Log(NamedTuple):
    """A setting that is even on a logarithmic scale."""

    low: float
    high: float

    def axis(self) -> Axis:
        """Return the coordinate: all of [0, 1]."""
        return Axis()

    def value(self, u: float) -> float:
        """Return the setting at a coordinate."""
        value: float = self.low * (self.high / self.low) ** u
        return min(max(value, self.low), self.high)  # rounding may step over an end


SPACE: dict[str, Steps | Log] = {  # the paper's table, in its order
    "batch_size": Steps(32, 512, 32),
    "learning_rate": Log(1e-7, 1e-1),
    "learning_rate_decay": Log(1e-7, 1e-3),
    "l2": Log(1e-7, 1e-3),
    "fc_channels": Steps(256, 512, 16),
    "conv_channels": Steps(128, 256, 16),
}


def axes() -> tuple[Axis, ...]:
    """Return the unit cube of the six settings, one axis each."""
    return tuple(parameter.axis() for parameter in SPACE.values())


def settings(x: ArrayLike) -> dict[str, float]:
    """Return the settings at a point of the unit cube."""
    x = np.asarray(x, dtype=float)
    if x.shape != (len(SPACE),) or not np.all((x >= 0.0) & (x <= 1.0)):
        raise ValueError(f"`x` must be {len(SPACE)} numbers in [0, 1], but got {x}.")
    pairs = zip(SPACE.items(), x.tolist(), strict=True)
    return {name: parameter.value(u) for (name, parameter), u in pairs}


class Trainer:
    """Trains the network on pictures that are put on the device once.

    Args:
        images: the pictures.
        device: what torch calls it; a GPU if there is one.
        epochs: how often a training sees each picture.
        graphs: whether a GPU records a step and replays it.
    """

    def __init__(
        self, images: Images, device: str | None = None, epochs: int = EPOCHS, graphs: bool = True
    ) -> None:
        validate.at_least("epochs", epochs, 1)
        torch = load_torch()
        self.epochs = epochs
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self._gpu = self.device.type == "cuda"
        self._graphs = graphs and self._gpu
        self._number = torch.bfloat16 if self._gpu else torch.float32
        pixels = images.train_x.reshape(-1, 3) / 255.0
        mean, std = (torch.tensor(v) for v in (pixels.mean(axis=0), pixels.std(axis=0) + 1e-6))
        self._train_x, self._test_x = (
            ((torch.from_numpy(x) / 255.0 - mean) / std).to(self.device, self._number)
            for x in (images.train_x, images.test_x)
        )  # (n, height, width, channel): a batch seen as (n, channel, …) is then "channels last"
        self._train_y, self._test_y = (
            torch.from_numpy(y).to(self.device) for y in (images.train_y, images.test_y)
        )

    def error(self, settings: Mapping[str, float], seed: int) -> float:
        """Train with the settings and return the part of the test pictures that is misread.

        A seed repeats the result on a CPU. A GPU repeats it as far as its kernels do: the
        deterministic ones are asked for.
        """
        torch = load_torch()
        if missing := [name for name in SPACE if name not in settings]:
            raise ValueError(f"`settings` must have {missing[0]!r}, but got {dict(settings)}.")
        devices = [self.device] if self._gpu else []
        with (
            torch.random.fork_rng(devices),
            torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True),
        ):
            torch.manual_seed(seed)
            network = self._network(int(settings["conv_channels"]), int(settings["fc_channels"]))
            self._train(network, settings)
            error = self._test(network)
        if self._graphs:
            torch.cuda.empty_cache()  # a graph's memory is its own; other processes want it back
        return error

    def _network(self, conv: int, fc: int) -> Any:
        torch, nn = load_torch(), load_torch().nn
        height, width = self._train_x.shape[1:3]
        with torch.device(self.device):  # parameters are drawn where they are used
            network = nn.Sequential(
                nn.Conv2d(3, conv, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                nn.Conv2d(conv, conv, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                nn.Flatten(), nn.Linear(conv * (height // 4) * (width // 4), fc), nn.ReLU(),
                nn.Linear(fc, CLASSES),
            )  # fmt: skip
        return network.to(memory_format=torch.channels_last)

    def _train(self, network: Any, settings: Mapping[str, float]) -> None:
        torch, device = load_torch(), self.device
        count = len(self._train_y)
        batch = min(int(settings["batch_size"]), count)
        first_rate, decay = float(settings["learning_rate"]), settings["learning_rate_decay"]
        optimizer = torch.optim.SGD(
            network.parameters(),
            lr=torch.tensor(first_rate, device=device),  # a tensor: it changes without a sync
            momentum=MOMENTUM,
            weight_decay=settings["l2"],
            fused=True,
        )
        rate = optimizer.param_groups[0]["lr"]
        first_places = torch.arange(batch, device=device)
        order = torch.arange(count, device=device)
        place = first_places.clone()
        steps_done = torch.zeros((), device=device)

        def step() -> None:
            optimizer.zero_grad(set_to_none=True)
            chosen = order[place]
            loss = torch.nn.functional.cross_entropy(
                self._outputs(network, self._train_x[chosen]), self._train_y[chosen]
            )
            loss.backward()
            optimizer.step()
            place.add_(batch)
            steps_done.add_(1.0)
            rate.copy_(first_rate / (1.0 + decay * steps_done))

        steps_per_epoch = count // batch
        run = self._replayed(step) if self._graphs else step
        for _ in range(self.epochs):
            order.copy_(torch.randperm(count, device=device))
            place.copy_(first_places)
            for _ in range(steps_per_epoch):
                run()

    def _outputs(self, network: Any, pictures: Any) -> Any:
        torch = load_torch()
        # No cache of rounded parameters: it would outlive the step that a graph records.
        with torch.autocast(
            self.device.type, dtype=torch.bfloat16, enabled=self._gpu, cache_enabled=False
        ):
            return network(pictures.permute(0, 3, 1, 2)).float()

    def _replayed(self, step: Callable[[], None]) -> Callable[[], None]:
        """Return the step as a graph: the first calls run it, one more records, all others replay.

        Libraries set themselves up, and momentum is made, in the calls that run it. They are steps
        of the training like all others.
        """
        torch = load_torch()
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream(self.device)
        calls = 0

        def run() -> None:
            nonlocal calls
            calls += 1
            if calls <= _WARM_UP:
                stream.wait_stream(torch.cuda.current_stream(self.device))
                with torch.cuda.stream(stream):
                    step()
                torch.cuda.current_stream(self.device).wait_stream(stream)
                return
            if calls == _WARM_UP + 1:
                with torch.cuda.graph(graph):
                    step()  # recorded, not run
            graph.replay()

        return run

    def _test(self, network: Any) -> float:
        torch = load_torch()
        wrong = torch.zeros((), dtype=torch.int64, device=self.device)
        with torch.no_grad():
            for start in range(0, len(self._test_y), _TEST_BATCH):
                part = slice(start, start + _TEST_BATCH)
                shown = self._outputs(network, self._test_x[part]).argmax(dim=1)
                wrong += (shown != self._test_y[part]).sum()
        return float(wrong.item()) / len(self._test_y)


_WARM_UP = 3  # steps before one is recorded, as PyTorch's notes on CUDA graphs advise
_TEST_BATCH = 500  # pictures at a time: bounds the memory, not the result


def load_torch() -> Any:
    """Return torch, or say how to get it."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            "The image classifier needs torch: pip install 'calibrant[torch]'."
        ) from error
    return torch
