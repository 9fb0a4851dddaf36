"""Training jobs as users have them: networks, boosting, forests, SVMs and pipelines on small data.

Each evaluation trains. Rates that diverge, dropout that leaves nothing, ends of ranges that are
bad together: what is smooth in most of the box is a plateau in the rest, as in real tuning.
Folds and seeds are fixed, so that an outcome is a function of the settings; nobody knows the
lowest one (see :mod:`benchmarks.peers.live`).
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.peers import tabular
from benchmarks.peers.live import data, scaled, task, validated
from benchmarks.peers.tasks import Settings, Task, choice, integer, real, when

_NETWORK = (
    integer("batch", 8, 128, log=True),
    real("rate", 1e-4, 1e-1, log=True),
    real("momentum", 0.1, 0.99),
    real("decay", 1e-5, 1e-1),
    integer("layers", 1, 4),
    integer("units", 8, 128, log=True),
    real("dropout", 0.0, 1.0),
)
_BOOSTING = (
    integer("max_iter", 5, 60, log=True),
    real("learning_rate", 1e-3, 1.0, log=True),
    integer("max_leaf_nodes", 2, 64, log=True),
    integer("min_samples_leaf", 1, 60, log=True),
    real("l2_regularization", 1e-6, 1e3, log=True),
    integer("max_bins", 4, 255, log=True),
)
_FOREST = (
    integer("n_estimators", 4, 30, log=True),
    integer("max_depth", 1, 20, log=True),
    integer("min_samples_split", 2, 60, log=True),
    real("max_features", 0.05, 1.0),
    real("max_samples", 0.05, 1.0),
    choice("criterion", "gini", "entropy"),
)
_SVM = (
    real("C", 1e-4, 1e4, log=True),
    real("gamma", 1e-6, 1e2, log=True),
    real("tol", 1e-5, 1e0, log=True),
    choice("class_weight", "balanced", "none"),
)
_PIPELINE = (
    choice("scaler", "standard", "minmax", "none"),
    choice("reduce", "pca", "best", "none"),
    when(real("components", 0.05, 1.0), "reduce", "pca", "best"),
    when(choice("whiten", "yes", "no"), "reduce", "pca"),
    choice("model", "svm", "logistic", "neighbours", "tree"),
    when(real("C", 1e-4, 1e4, log=True), "model", "svm", "logistic"),
    when(real("gamma", 1e-6, 1e2, log=True), "model", "svm"),
    when(integer("neighbours", 1, 60, log=True), "model", "neighbours"),
    when(choice("weights", "uniform", "distance"), "model", "neighbours"),
    when(real("power", 1.0, 5.0), "model", "neighbours"),
    when(integer("depth", 1, 20, log=True), "model", "tree"),
    when(integer("leaf", 1, 60, log=True), "model", "tree"),
)
_ELASTIC = (
    real("alpha", 1e-4, 1e4, log=True),
    real("l1_ratio", 0.0, 1.0),
    integer("degree", 1, 3),
    real("power", -1.0, 2.0),
)


def tuning() -> list[Task]:
    """Return the tasks: those that train, and tables that the suite has no part of."""
    return [
        training("network", "digits", 0.15874452),
        training("network", "breast cancer", 0.070190248),
        training("network", "wine", 0.0),
        training("boosting", "breast cancer", 0.11647676),
        training("forest", "digits", 0.07, "mixed"),
        training("forest", "wine", 0.016854991, "mixed"),
        training("svm", "breast cancer", 0.023808472, "mixed"),
        training("svm", "iris", 0.013333333, "mixed"),
        training("pipeline", "digits", 0.036666667, "mixed", "conditional"),
        training("pipeline", "breast cancer", 0.013333333, "mixed", "conditional"),
        training("pipeline", "wine", 0.016854991, "mixed", "conditional"),
        training("elastic net", "diabetes", 53.728684),
        tabular.mlp("blood_transfusion", 0.2533074362),
        tabular.mlp("car", 0.0),
        tabular.mlp("credit_g", 0.1147255834),
        tabular.mlp("segment", 0.03148688047),
        tabular.network("parkinsons_telemonitoring", 0.006705928012),
        tabular.cells("cifar100", 26.50666667),
    ]


def training(model: str, on: str, lowest: float, *groups: str) -> Task:
    """Return a model to be trained on data; ``lowest`` is the lowest outcome seen."""
    space, loss = _MODELS[model]
    return task(f"{model} on {on}", space, partial(loss, on), lowest, *groups)


_ROWS = 300  # of a data set: an evaluation takes hundredths of a second
_EPOCHS = 12


def _classes(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = data(name.replace(" ", "_"), _ROWS)
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0), y


def _network_loss(name: str, settings: Settings) -> float:
    """Return the error of a funnel of layers on the last third, after training on the rest."""
    X, y = _classes(name)
    cut = 2 * len(y) // 3
    rng = np.random.default_rng(0)
    widths = np.geomspace(settings["units"], y.max() + 1, settings["layers"] + 1).round()
    sizes = [X.shape[1], *widths.astype(int)]
    weights = [rng.normal(0.0, np.sqrt(2.0 / a), (a, b)) for a, b in pairwise(sizes)]
    biases = [np.zeros(b) for b in sizes[1:]]
    speeds = [np.zeros_like(part) for part in (*weights, *biases)]
    keep = 1.0 - settings["dropout"]
    targets = np.eye(int(y.max()) + 1)[y]
    steps = _EPOCHS * int(np.ceil(cut / settings["batch"]))
    with np.errstate(all="ignore"):  # what diverges is an outcome too
        for step in range(steps):
            rate = settings["rate"] * 0.5 * (1.0 + np.cos(np.pi * step / steps))
            rows = rng.integers(cut, size=settings["batch"])
            layers, signal = [X[rows]], X[rows]
            for W, b in zip(weights[:-1], biases[:-1], strict=True):
                signal = np.maximum(signal @ W + b, 0.0)
                signal = signal * (rng.random(signal.shape) < keep) / max(keep, 1e-3)
                layers.append(signal)
            wrong = (_softmax(signal @ weights[-1] + biases[-1]) - targets[rows]) / len(rows)
            by_weight: list[np.ndarray] = []
            by_bias: list[np.ndarray] = []
            for W, signal in zip(weights[::-1], layers[::-1], strict=True):
                by_weight.insert(0, signal.T @ wrong + settings["decay"] * W)
                by_bias.insert(0, wrong.sum(axis=0))
                wrong = (wrong @ W.T) * (signal > 0.0)
            for part, by, speed in zip(
                (*weights, *biases), (*by_weight, *by_bias), speeds, strict=True
            ):
                speed *= settings["momentum"]
                speed -= rate * by
                part += speed
        signal = X[cut:]
        for W, b in zip(weights[:-1], biases[:-1], strict=True):
            signal = np.maximum(signal @ W + b, 0.0)
        likely = _softmax(signal @ weights[-1] + biases[-1])[np.arange(len(y) - cut), y[cut:]]
    chance = 1.0 / targets.shape[1]
    return float(-np.log(np.clip(np.nan_to_num(likely, nan=chance), 1e-4, 1.0)).mean())


def _softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _boosting_loss(name: str, settings: Settings) -> float:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(early_stopping=False, random_state=0, **settings)
    return -validated(model, *_classes(name), "neg_log_loss", folds=2)


def _forest_loss(name: str, settings: Settings) -> float:
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(random_state=0, **settings)
    return 1.0 - validated(model, *_classes(name), "accuracy", folds=3)


def _svm_loss(name: str, settings: Settings) -> float:
    from sklearn.svm import SVC

    weight = None if settings["class_weight"] == "none" else "balanced"
    model = SVC(**{**settings, "class_weight": weight}, max_iter=5000)
    return 1.0 - validated(model, *_classes(name), "balanced_accuracy", folds=3)


def _pipeline_loss(name: str, settings: Settings) -> float:
    from sklearn.decomposition import PCA
    from sklearn.feature_selection import SelectKBest
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    X, y = data(name.replace(" ", "_"), _ROWS)
    scalers = {"standard": StandardScaler(), "minmax": MinMaxScaler(), "none": "passthrough"}
    kept = max(1, round(settings.get("components", 1.0) * X.shape[1]))
    reducers = {
        "pca": PCA(kept, whiten=settings.get("whiten") == "yes", random_state=0),
        "best": SelectKBest(k=kept),
        "none": "passthrough",
    }
    steps = (scalers[settings["scaler"]], reducers[settings["reduce"]], _classifier(settings))
    with np.errstate(all="ignore"):
        return 1.0 - validated(make_pipeline(*steps), X, y, "accuracy", folds=3)


def _classifier(settings: Settings) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    if settings["model"] == "svm":
        return SVC(C=settings["C"], gamma=settings["gamma"], max_iter=5000)
    if settings["model"] == "logistic":
        return LogisticRegression(C=settings["C"], max_iter=50)
    if settings["model"] == "neighbours":
        return KNeighborsClassifier(
            settings["neighbours"], weights=settings["weights"], p=settings["power"]
        )
    return DecisionTreeClassifier(
        max_depth=settings["depth"], min_samples_leaf=settings["leaf"], random_state=0
    )


def _elastic_loss(name: str, settings: Settings) -> float:
    """Return the error of a linear model of powers of inputs, weighted by the power's order."""
    from sklearn.linear_model import ElasticNet
    from sklearn.preprocessing import PolynomialFeatures

    X, y = scaled(name)
    powers = PolynomialFeatures(settings["degree"], include_bias=False)
    features = powers.fit_transform(X)
    features = features / features.std(axis=0) / powers.powers_.sum(axis=1) ** settings["power"]
    model = ElasticNet(alpha=settings["alpha"], l1_ratio=settings["l1_ratio"], max_iter=100)
    return float(
        np.sqrt(-validated(model, features, y - y.mean(), "neg_mean_squared_error", folds=3))
    )


_MODELS = {
    "network": (_NETWORK, _network_loss),
    "boosting": (_BOOSTING, _boosting_loss),
    "forest": (_FOREST, _forest_loss),
    "svm": (_SVM, _svm_loss),
    "pipeline": (_PIPELINE, _pipeline_loss),
    "elastic net": (_ELASTIC, _elastic_loss),
}
