"""The image classifier: its settings on the cube, and that it learns."""

import sys

import numpy as np
import pytest
from benchmarks.paper import cnn
from benchmarks.paper.data import Images

from calibrant.core import Cube

SMALL = {
    "batch_size": 32,
    "learning_rate": 0.02,
    "learning_rate_decay": 1e-5,
    "l2": 1e-5,
    "fc_channels": 16,
    "conv_channels": 8,
}


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="the networks are PyTorch's")


@pytest.fixture(scope="module")
def images():
    """Noise, in which the brightest colour says what is shown: one of three."""
    rng = np.random.default_rng(0)

    def draw(count):
        y = rng.integers(0, 3, count)
        x = rng.integers(0, 160, (count, 32, 32, 3), dtype=np.uint8)
        x[np.arange(count), :, :, y] += 90
        return x, y

    return Images(*draw(96), *draw(64))


def test_the_settings_at_both_ends():
    low, high = cnn.settings(np.zeros(6)), cnn.settings(np.ones(6))
    assert list(low) == list(cnn.SPACE)
    assert list(low.values()) == pytest.approx([32, 1e-7, 1e-7, 1e-7, 256, 128], rel=1e-12)
    assert list(high.values()) == pytest.approx([512, 0.1, 1e-3, 1e-3, 512, 256], rel=1e-12)
    for name in ("learning_rate", "learning_rate_decay", "l2"):
        assert cnn.SPACE[name].low <= low[name] <= high[name] <= cnn.SPACE[name].high


def test_the_middle_of_a_logarithmic_setting_is_the_geometric_mean():
    assert cnn.settings(np.full(6, 0.5))["learning_rate"] == pytest.approx(1e-4)


def test_only_listed_values_come_up_and_all_of_them():
    cube = Cube(cnn.axes())
    points = cube.spread(2000, np.random.default_rng(0))
    seen = [cnn.settings(x) for x in points]
    for name, step in (("batch_size", 32), ("fc_channels", 16), ("conv_channels", 16)):
        low, high = cnn.SPACE[name].low, cnn.SPACE[name].high
        assert {row[name] for row in seen} == set(range(low, high + 1, step))
        assert all(isinstance(row[name], int) for row in seen)
    assert len({row["learning_rate"] for row in seen}) == 2000


def test_a_point_and_the_allowed_point_next_to_it_mean_the_same():
    cube = Cube(cnn.axes())
    for x in np.random.default_rng(1).random((200, 6)):
        assert cnn.settings(x) == pytest.approx(cnn.settings(cube.snap(x[None])[0]))


@pytest.mark.parametrize("x", [np.zeros(5), np.full(6, 1.1), np.full(6, np.nan), np.zeros((2, 6))])
def test_points_outside_the_cube(x):
    with pytest.raises(ValueError, match=r"6 numbers in \[0, 1\], but got"):
        cnn.settings(x)


def test_the_network_learns_a_colour(torch, images):
    trainer = cnn.Trainer(images, "cpu", epochs=6)
    assert trainer.error(SMALL, seed=0) < 0.1
    assert trainer.error(SMALL | {"learning_rate": 1e-7}, seed=0) > 0.3


def test_a_seed_repeats_a_training_and_leaves_other_random_numbers_alone(torch, images):
    trainer = cnn.Trainer(images, "cpu", epochs=1)
    rough = SMALL | {"learning_rate": 2e-3}
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    errors = [trainer.error(rough, seed) for seed in (0, 1, 2, 3)]
    assert torch.equal(torch.rand(3), expected)
    assert [trainer.error(rough, seed) for seed in (0, 1, 2, 3)] == errors
    assert len(set(errors)) > 1


def test_a_training_that_diverges_has_an_error(torch, images):
    error = cnn.Trainer(images, "cpu", epochs=3).error(SMALL | {"learning_rate": 1e9}, seed=0)
    assert 0.3 < error <= 1.0


def test_training_is_textbook_sgd(torch, images):
    """Beside an epoch written out: momentum, weight decay, a rate that falls with the steps."""
    harsh = SMALL | {"learning_rate_decay": 0.5, "l2": 0.1, "batch_size": 40}
    trainer = cnn.Trainer(images, "cpu", epochs=2)
    torch.manual_seed(3)
    network = trainer._network(8, 16)
    state = torch.random.get_rng_state()
    start = [p.detach().clone() for p in network.parameters()]
    trainer._train(network, harsh)

    mean, std = (f(images.train_x / 255.0, axis=(0, 1, 2)) for f in (np.mean, np.std))
    x = torch.tensor((images.train_x / 255.0 - mean) / std, dtype=torch.float32).permute(0, 3, 1, 2)
    y = torch.tensor(images.train_y)
    torch.random.set_rng_state(state)
    mine = trainer._network(8, 16)
    torch.random.set_rng_state(state)
    parameters = list(mine.parameters())
    with torch.no_grad():
        for parameter, value in zip(parameters, start, strict=True):
            parameter.copy_(value)
    velocity = [torch.zeros_like(p) for p in parameters]
    for t in range(4):
        if t % 2 == 0:
            order = torch.randperm(96)
        chosen = order[40 * (t % 2) : 40 * (t % 2) + 40]
        loss = torch.nn.functional.cross_entropy(mine(x[chosen]), y[chosen])
        slopes = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for p, v, slope in zip(parameters, velocity, slopes, strict=True):
                v.mul_(0.9).add_(slope + 0.1 * p)
                p.sub_(0.02 / (1 + 0.5 * t) * v)
    for p, q, value in zip(parameters, network.parameters(), start, strict=True):
        torch.testing.assert_close(p, q, rtol=1e-3, atol=1e-5)
        assert not torch.equal(q, value)


def test_a_graph_replays_the_steps(torch, images):
    if not torch.cuda.is_available():
        pytest.skip("graphs are a GPU's")
    ends = []
    for graphs in (True, False):
        trainer = cnn.Trainer(images, "cuda", epochs=4, graphs=graphs)
        torch.manual_seed(0)
        network = trainer._network(8, 16)
        trainer._train(network, SMALL | {"learning_rate_decay": 0.1})
        ends.append([p.detach().clone() for p in network.parameters()])
    for replayed, run in zip(*ends, strict=True):
        torch.testing.assert_close(replayed, run, rtol=1e-2, atol=1e-4)


def test_a_batch_larger_than_the_data_is_all_of_it(torch, images):
    trainer = cnn.Trainer(images, "cpu", epochs=20)
    assert trainer.error(SMALL | {"batch_size": 512}, seed=0) < 0.3


def test_what_a_trainer_asks_for(torch, images):
    with pytest.raises(ValueError, match="epochs=0"):
        cnn.Trainer(images, "cpu", epochs=0)
    with pytest.raises(ValueError, match="must have 'batch_size'"):
        cnn.Trainer(images, "cpu").error({"l2": 0.1}, seed=0)


def test_training_needs_torch(images, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"needs torch: pip install 'calibrant\[torch\]'"):
        cnn.Trainer(images)
