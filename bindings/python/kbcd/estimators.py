"""KernelRegressor and KernelClassifier: `kbcd train` and `kbcd predict` with scikit-learn's conventions.

fit writes X and y to a temporary folder, runs `kbcd train` and keeps the bytes of the model file. Scores of few rows are
computed in NumPy (model.py) where h5py is installed, others by `kbcd predict`.
"""

from __future__ import annotations

import os
import tempfile

import numpy as np

from .base import (BaseEstimator, ClassifierMixin, NotFittedError, RegressorMixin, check_labels, checked_weights, validated,
                   validated_pair)  # fmt: skip
from .model import UnsupportedModel, is_sparse, load_model
from .program import run

NUMPY_WORK = 1e9  # operations that NumPy does in about the time that the program takes to start
LEAVE_ONE_OUT_ROWS = 2000  # so many rows take a second

# Parameters that are flags of `kbcd train` of the same name.
FLAGS = ("method", "kernel", "sigma", "gamma", "nu", "degree", "c", "lambda_", "p", "b", "epochs", "loss", "effort",
         "hold_out", "precision")  # fmt: skip


def _write_rows(folder: str, X) -> dict:
    """X in a file that kbcd reads: .npy, or svmlight of sparse rows; as options of a command."""
    if not is_sparse(X):
        path = os.path.join(folder, "X.npy")
        np.save(path, np.ascontiguousarray(X))
        return {"x": path}
    X = X.tocsr().copy()
    X.sum_duplicates()  # columns ascend then
    path = os.path.join(folder, "X.svm")
    with open(path, "w") as file:
        for first, last in zip(X.indptr[:-1], X.indptr[1:]):
            entries = zip((X.indices[first:last] + 1).tolist(), X.data[first:last].tolist())
            file.write(" ".join(["0", *(f"{j}:{x!r}" for j, x in entries)]) + "\n")
    return {"x": path, "option": f"features={X.shape[1]}"}


class FittedModel:
    """The bytes of a model file, and the Model of them in NumPy, where that is possible; the bytes alone are pickled."""

    def __init__(self, content: bytes):
        self.content, self._numpy, self._tried = content, None, False

    def __getstate__(self):
        return {"content": self.content}

    def __setstate__(self, state):
        self.__init__(state["content"])

    def _in_numpy(self):
        if not self._tried:
            self._tried = True
            try:
                self._numpy = load_model(self.content)
            except (ImportError, UnsupportedModel, ValueError):  # a broken h5py, or file: the program will say it
                pass
        return self._numpy

    def compute(self, what: str, X, settings: dict) -> np.ndarray:
        """The scores or the probabilities of rows, n x k."""
        model = self._in_numpy()
        if model and X.shape[0] * model.work <= NUMPY_WORK:
            return getattr(model, what)(X)
        with tempfile.TemporaryDirectory(prefix="kbcd-") as folder:
            path, out = os.path.join(folder, "model.h5"), os.path.join(folder, "out.npy")
            with open(path, "wb") as file:
                file.write(self.content)
            run("predict", {**_write_rows(folder, X), "model": path, "out": out, what: True}, folder, **settings)
            return np.load(out).reshape(X.shape[0], -1)


class _KernelEstimator(BaseEstimator):
    def __init__(self, *, method=None, kernel=None, sigma=None, gamma=None, nu=None, degree=None, c=None, lambda_=None,
                 p=None, b=None, epochs=None, loss=None, standardize=None, effort=None, hold_out=None, precision=None,
                 random_state=None, ranks=None, threads=None, memory=None, verbose=False, options=None,
                 program=None):  # fmt: skip
        self.method = method
        self.kernel = kernel
        self.sigma = sigma
        self.gamma = gamma
        self.nu = nu
        self.degree = degree
        self.c = c
        self.lambda_ = lambda_
        self.p = p
        self.b = b
        self.epochs = epochs
        self.loss = loss
        self.standardize = standardize
        self.effort = effort
        self.hold_out = hold_out
        self.precision = precision
        self.random_state = random_state
        self.ranks = ranks
        self.threads = threads
        self.memory = memory
        self.verbose = verbose
        self.options = options
        self.program = program

    def _settings(self) -> dict:
        names = ("program", "ranks", "threads", "memory", "verbose")
        return {name: getattr(self, name) for name in names}

    def _seed(self):
        seed = self.random_state
        return int(seed.randint(2**31 - 1)) if hasattr(seed, "randint") else seed

    def _flags(self, n: int) -> dict:
        flags = {name: getattr(self, name) for name in FLAGS}
        flags["seed"] = self._seed()
        flags["standardize"], flags["raw"] = self.standardize is True, self.standardize is False
        flags["quiet"] = not self.verbose
        closed_form = self.method in (None, "full_kernel") and self.loss in (None, "squared")
        if self.hold_out is None and closed_form and n <= LEAVE_ONE_OUT_ROWS:
            flags["hold_out"] = 0
        flags.update(self.options or {})
        return flags

    def _train(self, X, y, weights, task: str) -> None:
        with tempfile.TemporaryDirectory(prefix="kbcd-") as folder:
            files = {**_write_rows(folder, X), "y": os.path.join(folder, "y.npy"), "model": os.path.join(folder, "model.h5")}
            np.save(files["y"], np.ascontiguousarray(y, dtype=np.float64))
            if weights is not None and (weights != weights[0]).any():  # only their ratios count
                files["weights"] = os.path.join(folder, "weights.npy")
                np.save(files["weights"], weights)
            run("train", {**files, "task": task, **self._flags(X.shape[0])}, folder, **self._settings())
            with open(files["model"], "rb") as file:
                self._fitted = FittedModel(file.read())

    def _compute(self, what: str, X) -> np.ndarray:
        self._require_fitted()
        return self._fitted.compute(what, validated(self, X), self._settings())

    def _require_fitted(self):
        if not hasattr(self, "_fitted"):
            name = type(self).__name__
            raise NotFittedError(f"This {name} instance is not fitted yet. Call 'fit' before using this estimator.")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    def save_model(self, path) -> None:
        """Writes the model file, for `kbcd predict`, `kbcd evaluate` and load_model. Classes are numbers 0, 1, … in it."""
        self._require_fitted()
        with open(path, "wb") as file:
            file.write(self._fitted.content)


def _without_zeros(X, y, weights):
    """Rows of weight 0 count for nothing: they are left out."""
    if weights is None:
        return X, y, None
    weights = checked_weights(weights, X.shape[0])
    used = weights > 0
    return (X, y, weights) if used.all() else (X[used], y[used], weights[used])


PARAMETERS = """

    Parameters (None: what `kbcd train` chooses; `kbcd train --help` explains them)
    ----------
    method, kernel, sigma, gamma, nu, degree, c, p, b, epochs, loss, effort, precision: as the flags of `kbcd train`; sigma
        may be a list with a width for each column.
    lambda_: a number, or a list to choose from.
    standardize: True, columns to mean 0 and variance 1; False, rows as they are (--raw).
    hold_out: the share of rows held out to choose lambda by. None: no rows, with leave-one-out errors, for the full kernel
        and the squared loss up to 2,000 rows; else what `kbcd train` does.
    random_state: the seed, a number or a RandomState.
    ranks: None, or the number of ranks, started by mpirun ($KBCD_MPIRUN, if it is set).
    threads: of each rank. memory: what blocks may take on each rank, such as "8G".
    verbose: whether kbcd's progress is written to stderr.
    options: a dictionary of further flags, such as {"tol": 1e-3, "scale01": True}.
    program: the path of kbcd; else $KBCD, the one that this package was installed with, or that of $PATH.
"""


class KernelRegressor(RegressorMixin, _KernelEstimator):
    __doc__ = "Kernel least squares of one or several real targets, or another loss, by the program kbcd." + PARAMETERS

    def fit(self, X, y, sample_weight=None):
        """Trains on rows X (dense, or sparse of SciPy) and targets y, n or n x k."""
        X, y = validated_pair(self, X, y, True)
        X, y, weights = _without_zeros(X, y, sample_weight)
        self._train(X, y, weights, "regress")
        self._one_target = y.ndim == 1
        return self

    def predict(self, X) -> np.ndarray:
        """The targets of each row, of the shape that y had."""
        scores = self._compute("scores", X)
        return scores[:, 0] if self._one_target else scores

    def _more_tags(self):
        return {"multioutput": True}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse, tags.target_tags.multi_output = True, True
        return tags


class KernelClassifier(ClassifierMixin, _KernelEstimator):
    __doc__ = "A kernel classifier of two or more classes, numbers or names, by the program kbcd." + PARAMETERS

    def fit(self, X, y, sample_weight=None):
        """Trains on rows X (dense, or sparse of SciPy) and labels y."""
        X, y = validated_pair(self, X, y, False)
        check_labels(y)
        X, y, weights = _without_zeros(X, y, sample_weight)
        classes, numbers = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"y: labels of at least two classes expected, got one class, {classes[0]!r}"
                             + ("" if weights is None else ", among rows of weight > 0"))  # fmt: skip
        self._train(X, numbers, weights, "classify")
        self.classes_ = classes
        return self

    def decision_function(self, X) -> np.ndarray:
        """The scores of the classes, n x k; of two classes, the second's minus the first's, n."""
        scores = self._compute("scores", X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X) -> np.ndarray:
        """The class of each row: that of the largest score, as `kbcd predict` gives it."""
        places = self._compute("scores", X).argmax(axis=1)
        return self.classes_[places]

    def predict_proba(self, X) -> np.ndarray:
        """The probabilities of the classes, n x k: of the logistic loss, or calibrated ones."""
        return self._compute("probabilities", X)

    def predict_log_proba(self, X) -> np.ndarray:
        """Their logarithms."""
        return np.log(self.predict_proba(X))

    def _more_tags(self):
        reason = "calibration has a bias for each class: near the border, the class of the largest score may be another"
        return {"_xfail_checks": {"check_classifiers_train": reason + " than that of the largest probability"}}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
