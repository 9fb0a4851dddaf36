"""Online LDA on a grid: what it measures, and that a stopped run goes on."""

import json
import sys
from itertools import product
from subprocess import run

import numpy as np
import pytest
from scipy.special import digamma, gammaln

pytest.importorskip("sklearn", reason="online LDA is scikit-learn's")

from benchmarks.paper import data, lda

pytestmark = pytest.mark.slow  # a benchmark's page and data, not the library's

SMALL = {"MINIBATCHES": (1, 8), "KAPPAS": (0.5, 0.7), "TAUS": (1, 4)}


def articles(count, seed):
    """Two topics that share no word, and a few words of neither."""
    rng = np.random.default_rng(seed)
    topics = [["rocket", "orbit", "moon", "launch"], ["goalie", "puck", "skate", "hockey"]]
    rare = ["pencil", "teapot", "curtain"]
    texts = []
    for k in range(count):
        words = [*rng.choice(topics[k % 2], 12), *rng.choice(rare, 1)]
        texts.append(" ".join(words))
    return texts


@pytest.fixture(scope="module")
def corpus():
    return lda.count_words(articles(60, 0), articles(20, 1), rarest=1)


@pytest.fixture
def small_grid(monkeypatch):
    for name, values in SMALL.items():
        monkeypatch.setattr(lda, name, values)


@pytest.fixture
def calls(monkeypatch):
    """Perplexities that are made up, and a list of the settings asked for."""
    asked = []

    def perplexity(corpus, minibatch, kappa, tau0):
        asked.append((minibatch, kappa, tau0))
        return 100.0 * minibatch + 10.0 * kappa + tau0

    monkeypatch.setattr(lda, "perplexity", perplexity)
    return asked


def bound_a_word(corpus, minibatch, kappa, tau0):
    """Hoffman's online LDA and his bound, in numpy: one article, one word at a time."""
    topics, prior, words = lda.TOPICS, 1 / lda.TOPICS, corpus.train.shape[1]
    rng = np.random.RandomState(lda.MODEL_SEED)
    weights = rng.gamma(100.0, 0.01, (topics, words))

    def expected_log(a):
        return digamma(a) - digamma(a.sum(axis=-1, keepdims=True))

    def fitted(counts, beta, gamma):
        used = np.flatnonzero(counts)
        for _ in range(100):
            theta = np.exp(expected_log(gamma))
            phi = theta[:, None] * beta[:, used]
            phi /= phi.sum(axis=0)
            new = prior + phi @ counts[used]
            if np.abs(new - gamma).mean() < 1e-3:
                return new, used
            gamma = new
        return gamma, used

    train, test = corpus.train.toarray(), corpus.test.toarray()
    for t, start in enumerate([*range(0, len(train), minibatch)] * lda.PASSES):
        batch = train[start : start + minibatch]
        beta = np.exp(expected_log(weights))
        found = np.zeros_like(weights)
        for counts, guess in zip(batch, rng.gamma(100.0, 0.01, (len(batch), topics)), strict=True):
            gamma, used = fitted(counts, beta, guess)
            share = np.exp(expected_log(gamma))[:, None] * beta[:, used]
            found[:, used] += share / share.sum(axis=0) * counts[used]
        rate = (tau0 + 1 + t) ** -kappa
        weights = (1 - rate) * weights + rate * (prior + found * len(train) / len(batch))
    log_beta = expected_log(weights)
    bound = 0.0
    for counts in test:
        gamma, used = fitted(counts, np.exp(log_beta), np.ones(topics))
        log_theta = expected_log(gamma)
        bound += counts[used] @ np.logaddexp.reduce(log_theta[:, None] + log_beta[:, used])
        bound += (prior - gamma) @ log_theta + gammaln(gamma).sum() - gammaln(gamma.sum())
        bound += gammaln(topics * prior) - topics * gammaln(prior)
    return bound / test.sum()


@pytest.mark.parametrize(("minibatch", "kappa", "tau0"), [(1, 0.7, 8), (16, 0.5, 1), (128, 1, 32)])
def test_perplexity_is_hoffmans(corpus, minibatch, kappa, tau0):
    mine = np.exp(-bound_a_word(corpus, minibatch, kappa, tau0))
    theirs = lda.perplexity(corpus, minibatch, kappa, tau0)
    np.testing.assert_allclose(theirs, mine, rtol=1e-6)


def test_a_trained_model_beats_an_untrained_one(corpus):
    untrained = lda.perplexity(corpus, 1, 1.0, 1e6)
    trained = lda.perplexity(corpus, 8, 0.7, 1)
    assert trained < corpus.train.shape[1] < untrained  # between them: every word as likely


def test_the_same_settings_give_the_same_perplexity(corpus):
    assert lda.perplexity(corpus, 4, 0.6, 2) == lda.perplexity(corpus, 4, 0.6, 2)
    assert lda.perplexity(corpus, 4, 0.6, 2) != lda.perplexity(corpus, 4, 0.7, 2)


def test_the_grid_is_the_papers():
    assert len(lda.settings()) == 288 == len(set(lda.settings()))
    assert lda.settings() == list(product(*lda.GRID.values()))
    assert lda.settings()[0][0] == 1
    assert lda.settings()[-1] == (128, 1.0, 32)


def test_words_are_counted_as_the_training_articles_say():
    train = ["the moon moon 1993 ab", "moon teapot", "goalie teapot", "puck orbit", "ice goalie"]
    counts = lda.count_words(train, ["moon curtain goalie moon", "nothing known"], rarest=2)
    np.testing.assert_array_equal(counts.train.toarray()[:3], [[0, 2, 0], [0, 1, 1], [1, 0, 1]])
    np.testing.assert_array_equal(counts.test.toarray(), [[1, 2, 0], [0, 0, 0]])


def test_articles_are_drawn_by_a_seed(monkeypatch):
    monkeypatch.setattr(data, "newsgroups", lambda: (articles(60, 0), articles(30, 1)))
    monkeypatch.setattr(lda, "TRAINING", 40)
    monkeypatch.setattr(lda, "TESTING", 10)
    one, same, other = lda.corpus(0), lda.corpus(0), lda.corpus(1)
    assert (one.train.shape[0], one.test.shape[0]) == (40, 10)
    np.testing.assert_array_equal(one.train.toarray(), same.train.toarray())
    assert one.train.shape != other.train.shape or (one.train != other.train).nnz
    monkeypatch.setattr(lda, "TESTING", 31)
    with pytest.raises(ValueError, match="At least 31 articles are needed, but got 30"):
        lda.corpus()


def test_counts_survive_a_file(corpus, tmp_path):
    path = tmp_path / "counts"  # no ending: the name stays what it is
    lda.save_counts(corpus, path)
    loaded = lda.load_counts(path)
    for stored, read in zip(corpus, loaded, strict=True):
        assert stored.shape == read.shape
        np.testing.assert_array_equal(stored.toarray(), read.toarray())
    assert lda.perplexity(loaded, 8, 0.7, 1) == lda.perplexity(corpus, 8, 0.7, 1)


def test_counts_from_another_file(tmp_path):
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(ValueError, match="written by save_counts, but holds only x"):
        lda.load_counts(tmp_path / "other.npz")


def test_a_grid_is_evaluated_once_and_read_back(small_grid, calls, tmp_path):
    path, told = tmp_path / "grid.jsonl", []
    lda.evaluate_grid(None, path, progress=lambda *counts: told.append(counts))
    assert calls == lda.settings()
    assert told == [(k, 8) for k in range(1, 9)]
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert list(rows[0]) == ["minibatch", "kappa", "tau0", "perplexity", "seconds"]
    assert lda.read_grid(path)[8, 0.7, 4] == 100.0 * 8 + 10.0 * 0.7 + 4
    lda.evaluate_grid(None, path)
    assert len(calls) == 8


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_stopped_run_goes_on(small_grid, calls, tmp_path, cut):
    """Three lines and a part of the fourth are left; only what is missing is evaluated."""
    path = tmp_path / "grid.jsonl"
    lda.evaluate_grid(None, path)
    whole, lines = lda.read_grid(path), path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]) + lines[3][:-cut])
    calls.clear()
    told = []
    lda.evaluate_grid(None, path, progress=lambda *counts: told.append(counts))
    assert calls == lda.settings()[3:]
    assert told[0] == (4, 8)
    assert lda.read_grid(path) == whole


def test_results_are_on_disk_before_the_next_one(small_grid, calls, tmp_path):
    path, lines = tmp_path / "grid.jsonl", []
    lda.evaluate_grid(
        None, path, progress=lambda *_: lines.append(len(path.read_text().splitlines()))
    )
    assert lines == list(range(1, 9))


def test_an_incomplete_grid_is_not_read(small_grid, calls, tmp_path):
    path = tmp_path / "grid.jsonl"
    lda.evaluate_grid(None, path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-2]))
    with pytest.raises(ValueError, match=r"all 8 settings, but 2 are missing, .*\(8, 0.7, 1\)"):
        lda.read_grid(path)
    with pytest.raises(ValueError, match="8 are missing"):
        lda.read_grid(tmp_path / "nothing.jsonl")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("not json\n", "Line 1 of .* must be a result"),
        ('{"minibatch": 1}\n', "Line 1 of .* must be a result"),
        ('{"minibatch": 3, "kappa": 0.5, "tau0": 1, "perplexity": 2}\n', "Line 1"),
        ("a letter to my mother", "ends with b'a letter"),
    ],
)
def test_a_file_of_something_else_is_left_alone(small_grid, calls, tmp_path, content, message):
    path = tmp_path / "grid.jsonl"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        lda.evaluate_grid(None, path)
    assert path.read_text() == content
    assert not calls


def test_jobs_are_counted_from_one(tmp_path):
    with pytest.raises(ValueError, match="jobs=0"):
        lda.evaluate_grid(None, tmp_path / "grid.jsonl", jobs=0)


@pytest.mark.slow
def test_processes_find_what_one_process_does(corpus, tmp_path):
    """From the command line, with two processes and all but four settings already there."""
    counts, out = tmp_path / "counts.npz", tmp_path / "grid.jsonl"
    lda.save_counts(corpus, counts)
    names = list(lda.GRID)
    with out.open("w") as file:
        for setting in lda.settings()[:-4]:
            row = dict(zip(names, setting, strict=True)) | {"perplexity": 1.0, "seconds": 0.0}
            file.write(json.dumps(row) + "\n")
    command = [sys.executable, "-m", "benchmarks.paper.lda", str(counts), str(out), "--jobs", "2"]
    assert run(command, capture_output=True, text=True, check=True).stdout == ""
    grid = lda.read_grid(out)
    for setting in lda.settings()[-4:]:
        assert grid[setting] == pytest.approx(lda.perplexity(corpus, *setting), rel=1e-9)


def test_the_command_line_loads_little():
    code = "import benchmarks.paper.lda, sys; print(*sorted(m.split('.')[0] for m in sys.modules))"
    loaded = set(run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split())
    assert "calibrant" in loaded
    assert not loaded & {"typer", "rich", "optuna", "plotly", "torch", "pandas"}
