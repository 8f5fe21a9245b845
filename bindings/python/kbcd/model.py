"""Model files of kbcd in NumPy: f(x) = K(x, centres) α, without a start of the program.

The format is described in scripts/kbcd/files/README.md of kbcd. h5py reads the file.
"""

from __future__ import annotations

import io
import math
import os
import re

import numpy as np

KNOWN = {"kernel", "lambda", "coefficients", "centers", "classes", "targets", "loss", "calibration", "metric", "offset",
         "preprocess", "metrics", "options", "map"}  # fmt: skip


class UnsupportedModel(NotImplementedError):
    """A model file that the program reads, and this module does not."""


# Kernels: κ of a metric (modules/kernels of kbcd has the same formulas).


def _rbf(t, gamma):
    return np.exp(-gamma * t)


def _matern(t, nu, sigma):
    r = np.sqrt(t) * (math.sqrt(2 * nu) / sigma)
    return {0.5: 1, 1.5: 1 + r, 2.5: 1 + r + r**2 / 3}[nu] * np.exp(-r)


def _polynomial(t, degree, gamma, c):
    return (gamma * t + c) ** int(degree)


KERNELS = {  # name: the metric, κ, its parameters
    "rbf": ("sqeuclidean", _rbf, ("gamma",)),
    "laplacian": ("manhattan", _rbf, ("gamma",)),
    "matern": ("sqeuclidean", _matern, ("nu", "sigma")),
    "polynomial": ("dot", _polynomial, ("degree", "gamma", "c")),
    "linear": ("dot", lambda t: t, ()),
    "cosine": ("cosine", lambda t: t, ()),
}


def is_sparse(X) -> bool:
    """Whether X is a sparse matrix or array of SciPy."""
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def _dense(X):
    return X.toarray() if is_sparse(X) else X


def _squares(X):
    return np.asarray(X.multiply(X).sum(axis=1)).ravel() if is_sparse(X) else np.einsum("ij,ij->i", X, X)


def _products(X, C):
    return _dense(X @ C.T)


def _manhattan(X, C):
    X, C = _dense(X), _dense(C)
    D = np.zeros((len(X), len(C)))
    for x, c in zip(X.T, C.T):
        D += np.abs(x[:, None] - c)
    return D


def _distances(X, C):
    if not is_sparse(X) and not is_sparse(C):  # far from 0 the differences lose digits
        mean = C.mean(axis=0)
        X, C = X - mean, C - mean
    D = _squares(X)[:, None] + _squares(C) - 2 * _products(X, C)
    return np.maximum(D, 0, out=D)


def _cosines(X, C):
    def lengths(A):
        squares = _squares(A)
        return np.sqrt(np.where(squares > 0, squares, np.inf))

    return _products(X, C) / lengths(X)[:, None] / lengths(C)


METRICS = {"sqeuclidean": _distances, "manhattan": _manhattan, "dot": _products, "cosine": _cosines}


def softmax(S):
    E = np.exp(S - S.max(axis=1, keepdims=True))
    return E / E.sum(axis=1, keepdims=True)


class Model:
    """A model of `kbcd train`: load_model makes it.

    predict(X) gives what `kbcd predict` gives: classes or targets; scores(X) the n x k scores; probabilities(X) those of
    the classes. task is "classify" or "regress"; classes, the names (whole numbers where all of them are); lambda_, the
    chosen λ; d, the columns of X. The arithmetic is f64, on rows in the precision of the model.
    """

    def __init__(self, file, path: str):
        self._path = path
        self._check_known(file)
        attributes = file.attrs
        self.task, self.precision = _text(attributes["task"]), _text(attributes["precision"])
        self.d, self.k, best = (int(attributes[name]) for name in ("d", "k", "best"))
        self.lambda_ = float(file["lambda"][best - 1, 0])
        self._read_kernel(file["kernel"].attrs)
        self._coefficients = file["coefficients"][:, (best - 1) * self.k : best * self.k].astype(np.float64)
        self._offset = file["offset"][:].astype(np.float64) if "offset" in file else np.zeros((1, self.k))
        if self._offset.shape != (1, self.k):
            raise self._unsupported(f"an offset of shape {self._offset.shape}")
        self._metric = file["metric"][:].astype(np.float64) if "metric" in file else None
        self._centers = self._read_centers(file["centers"])
        self._read_preprocess(file)
        names = "classes" if self.task == "classify" else "targets"
        self.classes = _classes(file[names][:]) if names in file else None
        self._loss = _text(file["loss"].attrs["name"]) if "loss" in file else "squared"
        self._calibration = file["calibration"][best - 1].astype(np.float64) if "calibration" in file else None

    def _unsupported(self, what: str) -> UnsupportedModel:
        return UnsupportedModel(f"{self._path}: a model with {what} cannot be predicted in NumPy; use `kbcd predict`")

    def _check_known(self, file):
        if _text(file.attrs.get("format", "")) != "kbcd model":
            raise ValueError(f"{self._path}: no kbcd model file")
        if file.attrs["version"] != 2:
            raise self._unsupported(f"the format version {file.attrs['version']:g}")
        if "pipeline" in file:
            kind = _text(file["pipeline"].attrs["kind"])
            raise self._unsupported(f"a pipeline (it takes raw input: {kind})")
        for name in sorted(set(file) - KNOWN):
            raise self._unsupported(f"/{name}")
        if _text(file.attrs["form"]) != "kernel":
            raise self._unsupported(f"features (the map '{_text(file['map'].attrs['name'])}')")

    def _read_kernel(self, attributes):
        name = self.kernel = _text(attributes["name"])
        if name not in KERNELS or "source" in attributes:
            raise self._unsupported(f"the kernel '{name}'")
        metric, self._kappa, parameters = KERNELS[name]
        self._metric_of, self._parameters = METRICS[metric], {p: float(attributes[p]) for p in parameters}

    def _read_centers(self, centers):
        if not hasattr(centers, "keys"):
            return centers[:].astype(np.float64)
        values, columns, starts = (centers[name][:] for name in ("values", "columns", "starts"))
        width = self._metric.shape[1] if self._metric is not None and self._metric.shape[1] > 1 else self.d
        shape = (len(starts) - 1, width)
        try:
            from scipy.sparse import csr_matrix
        except ImportError:
            dense = np.zeros(shape)
            dense[np.repeat(np.arange(shape[0]), np.diff(starts)), columns] = values
            return dense
        return csr_matrix((values.astype(np.float64), columns, starts), shape)

    def _read_preprocess(self, file):
        group = file.get("preprocess")
        self._kind = _text(group.attrs["kind"]) if group is not None and "kind" in group.attrs else None
        if self._kind not in (None, "standardize", "standardize-numbers", "scale01", "unit-norm"):
            raise self._unsupported(f"the preprocessing '{self._kind}'")
        if self._kind and self._kind != "unit-norm":
            self._shift, self._scale = (group[name][:].astype(np.float64) for name in ("shift", "scale"))

    @property
    def work(self) -> float:
        """About how many operations the scores of a row take."""
        columns = self.d * (10 if self._metric_of is _manhattan else 1)
        return self._centers.shape[0] * (columns + self.k + 100.0)

    def _rounded(self, X):
        """In the precision of the model, as f64."""
        if self.precision == "f64":
            return X
        with np.errstate(over="ignore"):
            X = X.astype(np.float32).astype(np.float64)
        if not np.isfinite(X.data if is_sparse(X) else X).all():
            raise ValueError("X: numbers that f32 holds expected, got one that is too large; train with precision='f64'")
        return X

    def _prepared(self, X):
        """Rows as the kernel takes them: preprocessed, in the model's precision, in its metric."""
        if self._kind == "unit-norm":
            X = _dense(X)
            for lengths in (lambda X: np.abs(X).max(axis=1), lambda X: np.sqrt(_squares(X))):
                length = lengths(X)[:, None]
                X = X / np.where(length > 0, length, 1)
        elif self._kind:
            X = (_dense(X) - self._shift) * self._scale
        X = self._rounded(X)
        if self._metric is not None:
            X = self._rounded(_dense(X) * self._metric.T if self._metric.shape[1] == 1 else _dense(X) @ self._metric)
        return X

    def _rows(self, X):
        X = X.tocsr().astype(np.float64) if is_sparse(X) else np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != self.d:
            raise ValueError(f"X: rows of {self.d} numbers expected, as the model was trained on, got shape {X.shape}")
        if not np.isfinite(X.data if is_sparse(X) else X).all():
            raise ValueError("X: finite numbers expected, got NaN or infinity")
        return X

    def scores(self, X) -> np.ndarray:
        """The scores of each row, n x k: of the classes, or the targets."""
        X = self._rows(X)
        S = np.empty((X.shape[0], self.k))
        piece = max(1, 2**22 // max(self._centers.shape[0], self.d))
        for first in range(0, X.shape[0], piece):
            rows = self._prepared(X[first : first + piece])
            K = self._kappa(self._metric_of(rows, self._centers), **self._parameters)
            S[first : first + piece] = K @ self._coefficients + self._offset
        return S

    def probabilities(self, X) -> np.ndarray:
        """The probabilities of the classes, n x k."""
        if self._loss == "logistic":
            return softmax(self.scores(X))
        if self._calibration is None:
            raise ValueError(f"{self._path}: the model has no probabilities: it is of real targets, or its scores are not "
                             "calibrated (train with rows held out, or with the logistic loss)")  # fmt: skip
        return softmax(self._calibration[0] * self.scores(X) + self._calibration[1:])

    def predict(self, X) -> np.ndarray:
        """The class of each row, or its targets: n numbers, or n x k of several targets."""
        S = self.scores(X)
        if self.task == "classify":
            return self.classes[S.argmax(axis=1)]
        return S[:, 0] if self.k == 1 else S


def _text(value) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _classes(names) -> np.ndarray:
    texts = [_text(name) for name in names]
    whole = all(re.fullmatch("-?[0-9]+", text) and len(text) < 16 for text in texts)
    return np.array([int(text) for text in texts] if whole else texts)


def load_model(source: str | os.PathLike | bytes) -> Model:
    """A model file (its path, or its bytes) as a Model that predicts in NumPy.

    Needs h5py. Models of random features, of kernels written in Lua and of tables raise UnsupportedModel: `kbcd predict`
    takes them.
    """
    try:
        import h5py
    except ImportError as error:
        raise ImportError("load_model needs h5py: pip install h5py; on Debian: apt-get install python3-h5py") from error
    path = "the model" if isinstance(source, bytes) else os.fspath(source)
    if not isinstance(source, bytes) and not os.path.exists(path):
        raise FileNotFoundError(f"{path}: no such file")
    try:
        with h5py.File(io.BytesIO(source) if isinstance(source, bytes) else path, "r") as file:
            return Model(file, path)
    except (OSError, KeyError) as error:
        raise ValueError(f"{path}: no kbcd model file, or a damaged one ({error})") from error
