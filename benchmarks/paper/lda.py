"""The paper's online LDA task: three settings of a topic model, and the perplexity they lead to.

Online LDA (Hoffman et al., 2010) reads 20 Newsgroups a minibatch at a time; batch t moves the
topics by (τ₀ + t)^−κ. The paper searches the minibatch size, κ and τ₀ on a grid of 288 settings,
small enough to be evaluated in full: a search is then replayed from a table.

    python -m benchmarks.paper.lda COUNTS.npz OUT.jsonl --jobs 16
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.kit.lines import append, whole_lines
from benchmarks.kit.running import run_all
from benchmarks.paper import data
from calibrant.core import validate

Setting = tuple[float, ...]  # minibatch, kappa, tau0

MINIBATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
KAPPAS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # 0.5: in the paper's grid, though theory asks for more
TAUS = (1, 2, 4, 8, 16, 32)
GRID: dict[str, tuple[float, ...]] = {"minibatch": MINIBATCHES, "kappa": KAPPAS, "tau0": TAUS}

TRAINING, TESTING = 11_000, 2_200  # articles, as in the paper
TOPICS = 20  # the paper does not say; one per newsgroup
PASSES = 3  # over the training articles; more change little and cost as much again
WORDS = 2_000  # the most frequent; a minibatch of 1 touches all of them 11,000 times
RAREST, COMMONEST = 5, 0.5  # words in fewer articles, or in a larger part of them, say little
TOKEN = r"(?u)\b[a-z]{3,}\b"  # words: no numbers, no initials
MODEL_SEED = 0  # one first guess of the topics for all settings, so that only the settings differ

DEVIATIONS = f"""\
The paper gives the grid, the data and the numbers of articles. The rest is our choice:
- {TOPICS} topics, priors of 1/{TOPICS} (scikit-learn's LatentDirichletAllocation, online).
- {PASSES} passes over the training articles in a random order; the paper trains "to convergence".
- The {WORDS} most frequent words of at least three letters, headers included, without English stop
  words and without words in fewer than {RAREST} articles or in more than {COMMONEST:.0%} of them.
- Training articles are drawn from the earlier part of the by-date split, test articles from the
  later one.
- Perplexity is Hoffman's: the bound on the test articles' likelihood given the topics, a word.
  scikit-learn's `perplexity` also charges the topics' own prior to the test words, so that it
  changes with their number.
- κ = 0.5 is the edge of what the theory of the algorithm allows; it runs like the others.
"""


class Corpus(NamedTuple):
    """How often each word is in each article: (articles, words), in random order."""

    train: sparse.csr_matrix
    test: sparse.csr_matrix


def corpus(seed: int = 0) -> Corpus:
    """Draw the articles and count their words."""
    rng = np.random.default_rng(seed)
    train, test = data.newsgroups()
    return count_words(_draw(rng, train, TRAINING), _draw(rng, test, TESTING))


def count_words(train: Sequence[str], test: Sequence[str], rarest: int = RAREST) -> Corpus:
    """Count words; which ones are counted is decided by the training articles."""
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(
        stop_words="english",
        min_df=rarest,
        max_df=COMMONEST,
        max_features=WORDS,
        token_pattern=TOKEN,
    )
    return Corpus(
        sparse.csr_matrix(vectorizer.fit_transform(train)),
        sparse.csr_matrix(vectorizer.transform(test)),
    )


def save_counts(corpus: Corpus, path: Path) -> None:
    """Write a corpus as npz: another machine then needs neither the articles nor their loader."""
    arrays: dict[str, Any] = {}
    for part, counts in corpus._asdict().items():
        arrays[f"{part}_counts"] = counts.data.astype(np.min_scalar_type(counts.data.max()))
        arrays[f"{part}_words"] = counts.indices.astype(np.int32)
        arrays[f"{part}_starts"] = counts.indptr.astype(np.int32)
        arrays[f"{part}_shape"] = np.array(counts.shape)
    with path.open("wb") as file:  # an open file, as numpy would add .npz to a name without
        np.savez_compressed(file, **arrays)


def load_counts(path: Path) -> Corpus:
    """Read a corpus that :func:`save_counts` wrote."""
    with np.load(path, allow_pickle=False) as file:
        try:
            parts = [
                sparse.csr_matrix(
                    (
                        file[f"{part}_counts"].astype(np.int64),
                        file[f"{part}_words"],
                        file[f"{part}_starts"],
                    ),
                    shape=tuple(file[f"{part}_shape"]),
                )
                for part in Corpus._fields
            ]
        except KeyError as error:
            raise ValueError(
                f"{path} must be a corpus written by save_counts, but holds only "
                f"{', '.join(file.files)}."
            ) from error
    return Corpus(*parts)


def perplexity(corpus: Corpus, minibatch: int, kappa: float, tau0: float) -> float:
    """Train online LDA and return the perplexity of the test articles, as Hoffman defines it."""
    from sklearn.decomposition import LatentDirichletAllocation
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    model = LatentDirichletAllocation(
        n_components=TOPICS,
        learning_method="online",
        batch_size=minibatch,
        learning_decay=float(kappa),  # numpy refuses a whole number to a whole negative power
        learning_offset=float(tau0),
        max_iter=PASSES,
        evaluate_every=0,
        random_state=MODEL_SEED,
    )
    with threadpool_limits(1):  # on matrices this small, threads wait for each other
        model.fit(corpus.train)
        # The bound is the articles' plus the topics'; of an article without words it is the latter.
        nothing = sparse.csr_matrix((1, corpus.train.shape[1]), dtype=corpus.train.dtype)
        bound = model.score(corpus.test) - model.score(nothing)
    return float(np.exp(-bound / corpus.test.sum()))


def settings() -> list[Setting]:
    """Return all settings of the grid, the slowest (the smallest minibatches) first."""
    return list(product(MINIBATCHES, KAPPAS, TAUS))


def evaluate_grid(
    corpus: Corpus,
    path: Path,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Evaluate what is missing of the grid in ``path``, one JSON line per setting as each finishes.

    Args:
        corpus: the articles.
        path: the results so far, if there are any; new ones are appended.
        jobs: settings evaluated at a time, each in a process with one thread.
        progress: called with the settings done so far and with how many there are.
    """
    validate.at_least("jobs", jobs, 1)
    known = _results(path)
    missing = [setting for setting in settings() if setting not in known]

    def tell(done: int) -> None:
        if progress is not None:
            progress(len(known) + done, len(known) + len(missing))

    if jobs > 1:
        keep = partial(append, path)
        tasks = [(setting,) for setting in missing]
        run_all(_work, tasks, keep, jobs, tell, partial(_start_worker, corpus))
        return
    for done, setting in enumerate(missing, start=1):
        append(path, _result(corpus, setting))
        tell(done)


def read_grid(path: Path) -> dict[Setting, float]:
    """Return the perplexity of every setting: (minibatch, kappa, tau0)."""
    known = _results(path)
    missing = [setting for setting in settings() if setting not in known]
    if missing:
        raise ValueError(
            f"{path} must hold all {len(settings())} settings, but {len(missing)} are missing, "
            f"(minibatch, kappa, tau0)={missing[0]} the first; evaluate_grid, or `python -m "
            "benchmarks.paper.lda COUNTS.npz OUT.jsonl`, adds what is missing."
        )
    return {setting: known[setting] for setting in settings()}


def _draw(rng: np.random.Generator, texts: Sequence[str], count: int) -> list[str]:
    if len(texts) < count:
        raise ValueError(f"At least {count} articles are needed, but got {len(texts)}.")
    return [texts[i] for i in rng.permutation(len(texts))[:count]]


def _results(path: Path) -> dict[Setting, float]:
    """Return what a file of results holds."""
    allowed = set(settings())
    known: dict[Setting, float] = {}
    for place, line in whole_lines(path):
        try:
            row = json.loads(line)
            setting = (row["minibatch"], row["kappa"], row["tau0"])
            if setting not in allowed:
                raise ValueError("no setting of the grid")
            known[setting] = float(row["perplexity"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{place} must be a result of evaluate_grid, but is {line[:80]!r}; take another "
                "file, or take the line out."
            ) from error
    return known


def _result(corpus: Corpus, setting: Setting) -> dict[str, float]:
    minibatch, kappa, tau0 = setting
    start = time.perf_counter()
    value = perplexity(corpus, int(minibatch), kappa, tau0)
    return {
        "minibatch": minibatch,
        "kappa": kappa,
        "tau0": tau0,
        "perplexity": value,
        "seconds": round(time.perf_counter() - start, 3),
    }


_worker: list[Corpus] = []  # in a worker process: the articles, sent once and not with each setting


def _start_worker(corpus: Corpus) -> None:
    _worker[:] = [corpus]


def _work(setting: Setting) -> dict[str, float]:
    return _result(_worker[0], setting)


def main(arguments: Sequence[str] | None = None) -> None:
    """Evaluate what is missing of the grid, from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paper.lda", description="Evaluate online LDA on its whole grid."
    )
    parser.add_argument("counts", type=Path, help="a corpus that save_counts wrote (npz)")
    parser.add_argument("out", type=Path, help="the results, one JSON line per setting; resumed")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    options = parser.parse_args(arguments)
    evaluate_grid(load_counts(options.counts), options.out, options.jobs)


if __name__ == "__main__":
    main()
