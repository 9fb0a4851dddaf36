"""The real data of the paper's experiments: where it is looked for, and what it must hold.

No data ships with the library. A file is read from the folder named by ``CALIBRANT_DATA``, or from
calibrant's own cache; where it is missing, the error says how to get it.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

NEWSGROUPS = "20news_bydate.parquet"
SNOEK_LDA = "snoek2012/lda.csv"
IMAGES = {"cifar10": "cifar10_10k_2k.npz", "svhn": "svhn_10k_2k.npz"}

_ARRAYS = (
    "arrays x_train and x_test (n, 32, 32, 3) of uint8, y_train and y_test (n,) of labels 0 to 9"
)
_HOW = {
    NEWSGROUPS: (
        "Columns: split ('train' or 'test'), text. Without the file, scikit-learn's "
        "fetch_20newsgroups downloads the same articles."
    ),
    SNOEK_LDA: "Columns kappa,tau0,S,perplexity,time_s: the grid of Snoek et al. (2012).",
    **dict.fromkeys(
        IMAGES.values(),
        f"It holds {_ARRAYS}. Where torchvision is installed (pip install torchvision), it is "
        "downloaded and made.",
    ),
}
_TRAINING, _TESTING = 10_000, 2_000  # pictures, drawn at random from all there are


class Images(NamedTuple):
    """Labelled pictures, (n, height, width, channel) in bytes, and what they show."""

    train_x: NDArray[np.uint8]
    train_y: NDArray[np.int64]
    test_x: NDArray[np.uint8]
    test_y: NDArray[np.int64]


def find(name: str) -> Path:
    """Return where a file of data is, or say where it was looked for and how to get it."""
    places = _places()
    for place in places:
        if (path := place / name).is_file():
            return path
    looked = " and in ".join(str(place) for place in places)
    unset = "" if os.environ.get("CALIBRANT_DATA") else " (CALIBRANT_DATA is not set)"
    raise FileNotFoundError(
        f"The data file {name} must exist, but it is not in {looked}{unset}; put it there, or set "
        f"CALIBRANT_DATA to the folder that holds it. {_HOW.get(name, '')}".rstrip()
    )


def newsgroups() -> tuple[list[str], list[str]]:
    """Return the training and the test articles of 20 Newsgroups, split by date.

    Each list is sorted: a seed then draws the same articles whichever way they were loaded.
    """
    try:
        path = find(NEWSGROUPS)
    except FileNotFoundError as missing:
        train, test = _downloaded(missing)
    else:
        train, test = _from_parquet(path)
    return sorted(train), sorted(test)


def images(name: str) -> Images:
    """Return the pictures of ``cifar10`` or ``svhn``."""
    if name not in IMAGES:
        raise ValueError(f"`name` must be one of {', '.join(IMAGES)}, but got {name!r}.")
    try:
        path = find(IMAGES[name])
    except FileNotFoundError as missing:
        path = _from_torchvision(name, missing)
    with np.load(path, allow_pickle=False) as file:
        wanted = ("x_train", "y_train", "x_test", "y_test")
        if absent := [array for array in wanted if array not in file.files]:
            raise ValueError(
                f"{path} has no array {absent[0]}, only {', '.join(file.files)}; "
                f"it must hold {_ARRAYS}."
            )
        train_x, train_y, test_x, test_y = (file[array] for array in wanted)
    return Images(
        _pictures(path, "x_train", train_x),
        _labels(path, "y_train", train_y, len(train_x)),
        _pictures(path, "x_test", test_x),
        _labels(path, "y_test", test_y, len(test_x)),
    )


def snoek_lda() -> list[tuple[dict[str, float], float]]:
    """Return the settings that Snoek et al. (2012) evaluated, with the perplexity of each.

    Online LDA on Wikipedia articles: a full grid of 6 × 6 × 8 settings.
    """
    path = find(SNOEK_LDA)
    columns = {"kappa": "kappa", "tau0": "tau0", "S": "minibatch"}
    rows: list[tuple[dict[str, float], float]] = []
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        header = list(reader.fieldnames or [])
        if not {*columns, "perplexity"} <= set(header):
            raise ValueError(f"{path} must have the header of {SNOEK_LDA}, but got {header}.")
        for row in reader:
            try:
                settings = {ours: float(row[theirs]) for theirs, ours in columns.items()}
                rows.append((settings, float(row["perplexity"])))
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"{path}, line {reader.line_num}: every value must be a number, but got {row}."
                ) from error
    distinct = {tuple(settings.values()) for settings, _ in rows}
    cells = [len({values[axis] for values in distinct}) for axis in range(len(columns))]
    full = int(np.prod(cells)) if rows else 1
    if len(rows) != full or len(distinct) != full:
        raise ValueError(
            f"{path} must hold a full grid, each setting once, but got {len(rows)} rows with "
            f"{len(distinct)} of {full} settings; copy the file again."
        )
    return rows


def cache() -> Path:
    """Return calibrant's own folder for what can be had again: downloads, trainings."""
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache") / "calibrant"


def _places() -> list[Path]:
    named = os.environ.get("CALIBRANT_DATA")
    return [Path(named).expanduser(), cache()] if named else [cache()]


def _from_parquet(path: Path) -> tuple[list[str], list[str]]:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(
            f"{path} is a parquet file, and reading it needs pyarrow: pip install pyarrow; "
            "or take it away, and scikit-learn downloads the articles."
        ) from error
    table = parquet.read_table(path)
    if not {"split", "text"} <= set(table.column_names):
        raise ValueError(
            f"{path} must have the columns split and text, but got {table.column_names}."
        )
    parts: dict[str, list[str]] = {"train": [], "test": []}
    columns = (table.column(name).to_pylist() for name in ("split", "text"))
    for split, text in zip(*columns, strict=True):
        if split not in parts:
            raise ValueError(f"{path}: a split must be 'train' or 'test', but got {split!r}.")
        parts[split].append(text)
    return parts["train"], parts["test"]


def _downloaded(missing: FileNotFoundError) -> tuple[list[str], list[str]]:
    """Load the articles with scikit-learn, which keeps them in a cache of its own."""
    try:
        from sklearn.datasets import fetch_20newsgroups
    except ImportError as error:
        raise ImportError(
            f"{missing} That loader needs scikit-learn: pip install 'calibrant[sklearn]'."
        ) from error
    try:
        train, test = (
            list(fetch_20newsgroups(subset=subset, shuffle=False).data)
            for subset in ("train", "test")
        )
    except OSError as error:  # no network, a moved address, a full disk
        raise FileNotFoundError(f"{missing} It tried to, and failed: {error}.") from error
    return train, test


def _from_torchvision(name: str, missing: FileNotFoundError) -> Path:
    """Download all pictures, keep some of them in calibrant's cache, and return where."""
    try:
        from torchvision import datasets
    except ImportError:
        raise missing from None
    path = cache() / IMAGES[name]
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    arrays: dict[str, np.ndarray] = {}
    try:
        for split, count in (("train", _TRAINING), ("test", _TESTING)):
            if name == "cifar10":
                whole = datasets.CIFAR10(str(path.parent), train=split == "train", download=True)
                x, y = np.asarray(whole.data), np.asarray(whole.targets)
            else:
                whole = datasets.SVHN(str(path.parent), split=split, download=True)
                x, y = np.asarray(whole.data).transpose(0, 2, 3, 1), np.asarray(whole.labels)
            some = rng.choice(len(y), min(count, len(y)), replace=False)
            arrays |= {f"x_{split}": x[some], f"y_{split}": y[some]}
    except (OSError, RuntimeError) as error:  # no network, a moved address, a full disk
        raise FileNotFoundError(f"{missing} It tried to, and failed: {error}.") from error
    np.savez_compressed(
        path,
        x_train=arrays["x_train"],
        y_train=arrays["y_train"],
        x_test=arrays["x_test"],
        y_test=arrays["y_test"],
    )
    return path


def _pictures(path: Path, name: str, array: np.ndarray) -> NDArray[np.uint8]:
    if array.dtype != np.uint8 or array.ndim != 4 or array.shape[1:] != (32, 32, 3):
        raise ValueError(
            f"{path}: {name} must be uint8 of shape (n, 32, 32, 3), but got {array.dtype} of shape "
            f"{array.shape}; put the channels last, and do not scale the bytes."
        )
    return array


def _labels(path: Path, name: str, array: np.ndarray, count: int) -> NDArray[np.int64]:
    if array.shape != (count,) or array.dtype.kind not in "iu":
        raise ValueError(
            f"{path}: {name} must be {count} integers, one per picture, but got {array.dtype} of "
            f"shape {array.shape}."
        )
    labels = array.astype(np.int64)
    if bad := sorted(set(labels.tolist()) - set(range(10))):
        raise ValueError(
            f"{path}: {name} must be labels from 0 to 9, but got {bad[0]}; "
            "the original SVHN calls the digit 0 class 10."
        )
    return labels
