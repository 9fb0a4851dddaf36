"""Where real data is looked for, and what it must hold."""

import sys
import types

import numpy as np
import pytest
from benchmarks.paper import data


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of data, and an empty cache."""
    named = tmp_path / "data"
    named.mkdir()
    monkeypatch.setenv("CALIBRANT_DATA", str(named))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return named


def pictures(count, **changes):
    rng = np.random.default_rng(0)
    arrays = {
        "x_train": rng.integers(0, 256, (count, 32, 32, 3), dtype=np.uint8),
        "y_train": np.arange(count, dtype=np.uint8) % 10,
        "x_test": rng.integers(0, 256, (3, 32, 32, 3), dtype=np.uint8),
        "y_test": np.arange(3, dtype=np.uint8),
    }
    arrays.update(changes)
    return {name: array for name, array in arrays.items() if array is not None}


def grid_file(rows):
    lines = [f"{k},{t},{s},{1000 + k + t + s},1.5" for k, t, s in rows]
    return "\n".join(["kappa,tau0,S,perplexity,time_s", *lines]) + "\n"


GRID_ROWS = [(k, t, s) for k in (0.5, 1.0) for t in (1.0, 4.0) for s in (1.0, 4.0, 16.0)]


def test_the_named_folder_comes_before_the_cache(folder, tmp_path):
    cached = tmp_path / "caches" / "calibrant" / "one.txt"
    cached.parent.mkdir(parents=True)
    cached.touch()
    assert data.find("one.txt") == cached
    (folder / "one.txt").touch()
    assert data.find("one.txt") == folder / "one.txt"


def test_the_cache_is_in_the_home_folder_unless_it_is_elsewhere(tmp_path, monkeypatch):
    monkeypatch.delenv("CALIBRANT_DATA", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    cached = tmp_path / ".cache" / "calibrant" / "one.txt"
    cached.parent.mkdir(parents=True)
    cached.touch()
    assert data.find("one.txt") == cached


@pytest.mark.parametrize(
    ("name", "way_out"),
    [
        (data.NEWSGROUPS, "fetch_20newsgroups"),
        (data.SNOEK_LDA, "kappa,tau0,S"),
        (data.IMAGES["cifar10"], "x_train.*uint8.*torchvision"),
        (data.IMAGES["svhn"], "x_train.*uint8.*torchvision"),
    ],
)
def test_missing_data_is_named_with_the_places_and_the_way_to_get_it(folder, name, way_out):
    with pytest.raises(FileNotFoundError, match=way_out) as caught:
        data.find(name)
    for said in (name, str(folder), "caches", "CALIBRANT_DATA"):
        assert said in str(caught.value)
    assert "not set" not in str(caught.value)


def test_missing_data_says_that_no_folder_was_named(folder, monkeypatch):
    monkeypatch.delenv("CALIBRANT_DATA")
    with pytest.raises(FileNotFoundError, match="CALIBRANT_DATA is not set"):
        data.find("one.txt")


@pytest.mark.parametrize("name", ["cifar10", "svhn"])
def test_pictures(folder, name):
    stored = pictures(20)
    np.savez(folder / f"{name}_10k_2k.npz", **stored)
    images = data.images(name)
    np.testing.assert_array_equal(images.train_x, stored["x_train"])
    np.testing.assert_array_equal(images.test_x, stored["x_test"])
    np.testing.assert_array_equal(images.train_y, stored["y_train"])
    np.testing.assert_array_equal(images.test_y, stored["y_test"])
    assert images.train_y.dtype == np.int64


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x_test": None}, "has no array x_test, only x_train, y_train, y_test"),
        ({"x_train": np.zeros((4, 3, 32, 32), np.uint8)}, r"x_train .*\(4, 3, 32, 32\)"),
        ({"x_train": np.zeros((4, 32, 32, 3))}, "x_train must be uint8 .* got float64"),
        ({"y_train": np.zeros(5, np.uint8)}, "y_train must be 4 integers"),
        ({"y_train": np.zeros(4)}, "y_train must be 4 integers.*float64"),
        ({"y_train": np.array([0, 1, 10, 2])}, "labels from 0 to 9, but got 10"),
    ],
)
def test_pictures_that_are_something_else(folder, changes, message):
    np.savez(folder / "svhn_10k_2k.npz", **pictures(4, **changes))
    with pytest.raises(ValueError, match=message):
        data.images("svhn")


def test_unknown_pictures():
    with pytest.raises(ValueError, match="one of cifar10, svhn, but got 'mnist'"):
        data.images("mnist")


def test_the_grid_of_snoek(folder):
    (folder / "snoek2012").mkdir()
    (folder / "snoek2012" / "lda.csv").write_text(grid_file(GRID_ROWS))
    rows = data.snoek_lda()
    assert len(rows) == 12
    assert rows[1] == ({"kappa": 0.5, "tau0": 1.0, "minibatch": 4.0}, 1005.5)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (grid_file(GRID_ROWS[:-1]), "11 rows with 11 of 12 settings"),
        (grid_file([*GRID_ROWS[:-1], GRID_ROWS[0]]), "12 rows with 11 of 12 settings"),
        (grid_file([]), "0 rows"),
        (grid_file(GRID_ROWS).replace("1005.5", "?"), "line 3: every value must be a number"),
        ("a,b\n1,2\n", r"header .* but got \['a', 'b'\]"),
    ],
)
def test_a_broken_grid_of_snoek(folder, content, message):
    (folder / "snoek2012").mkdir()
    (folder / "snoek2012" / "lda.csv").write_text(content)
    with pytest.raises(ValueError, match=message):
        data.snoek_lda()


ARTICLES = {"train": ["b", "a", "c"], "test": ["z", "y"]}


def downloads(monkeypatch, fetch):
    datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn loads the articles")
    monkeypatch.setattr(datasets, "fetch_20newsgroups", fetch)


def test_articles_are_downloaded_where_there_is_no_file(folder, monkeypatch):
    downloads(monkeypatch, lambda subset, **_: types.SimpleNamespace(data=ARTICLES[subset]))
    assert data.newsgroups() == (["a", "b", "c"], ["y", "z"])


def test_a_download_that_fails_says_what_to_do_instead(folder, monkeypatch):
    def fetch(**_):
        raise ConnectionError("no route to host")

    downloads(monkeypatch, fetch)
    with pytest.raises(FileNotFoundError, match=r"CALIBRANT_DATA.*no route to host") as caught:
        data.newsgroups()
    assert isinstance(caught.value.__cause__, ConnectionError)


def test_articles_are_read_from_the_file(folder):
    pyarrow = pytest.importorskip("pyarrow", reason="articles are in a parquet file")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [(split, text) for split, texts in ARTICLES.items() for text in texts]
    columns = {"split": [row[0] for row in rows], "text": [row[1] for row in rows]}
    parquet.write_table(pyarrow.table(columns), folder / data.NEWSGROUPS)
    assert data.newsgroups() == (["a", "b", "c"], ["y", "z"])

    columns["split"][0] = "valid"
    parquet.write_table(pyarrow.table(columns), folder / data.NEWSGROUPS)
    with pytest.raises(ValueError, match="'train' or 'test', but got 'valid'"):
        data.newsgroups()

    del columns["split"]
    parquet.write_table(pyarrow.table(columns), folder / data.NEWSGROUPS)
    with pytest.raises(ValueError, match=r"split and text, but got \['text'\]"):
        data.newsgroups()


def test_reading_the_file_needs_pyarrow(folder, monkeypatch):
    (folder / data.NEWSGROUPS).touch()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        data.newsgroups()


class _Pictures:
    """What torchvision's data sets look like."""

    def __init__(self, root, *, train=None, split=None, download):
        assert download
        count = 30 if train or split == "train" else 12
        numbers = np.arange(count)
        if split is None:
            self.data = np.broadcast_to(numbers[:, None, None, None], (count, 32, 32, 3))
            self.data, self.targets = self.data.astype(np.uint8), (numbers % 10).tolist()
        else:  # channels first
            self.data = np.broadcast_to(numbers[:, None, None, None], (count, 3, 32, 32))
            self.data, self.labels = self.data.astype(np.uint8), numbers % 10


@pytest.mark.parametrize("name", ["cifar10", "svhn"])
def test_pictures_are_downloaded_once_where_torchvision_is(folder, name, monkeypatch):
    datasets = types.ModuleType("torchvision.datasets")
    datasets.CIFAR10 = datasets.SVHN = _Pictures
    package = types.ModuleType("torchvision")
    package.datasets = datasets
    monkeypatch.setitem(sys.modules, "torchvision", package)
    found = data.images(name)
    assert found.train_x.shape == (30, 32, 32, 3)
    np.testing.assert_array_equal(found.train_x[:, 0, 0, 0] % 10, found.train_y)
    np.testing.assert_array_equal(found.test_x[:, 5, 5, 2] % 10, found.test_y)
    monkeypatch.setitem(sys.modules, "torchvision", None)  # not needed again
    np.testing.assert_array_equal(data.images(name).test_y, found.test_y)


def test_a_download_of_pictures_that_fails_says_why(folder, monkeypatch):
    def fails(*_, **__):
        raise RuntimeError("Error downloading the pictures")

    datasets = types.ModuleType("torchvision.datasets")
    datasets.CIFAR10 = fails
    package = types.ModuleType("torchvision")
    package.datasets = datasets
    monkeypatch.setitem(sys.modules, "torchvision", package)
    with pytest.raises(FileNotFoundError, match=r"CALIBRANT_DATA.*Error downloading"):
        data.images("cifar10")
