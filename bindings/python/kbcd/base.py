"""What the estimators take from scikit-learn: its base classes and its checks of X and y; small ones of our own without it.

    validated(estimator, X)       rows to predict, checked against those of fit
    validated_pair(estimator, X, y, numeric)     rows and targets to fit
    checked_weights(weights, n)   weights of n rows, all >= 0
"""

from __future__ import annotations

import inspect

import numpy as np

from .model import is_sparse

TYPES = [np.float64, np.float32]  # what is not one of these becomes the first


def checked_weights(weights, n: int) -> np.ndarray:
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (n,):
        raise ValueError(f"sample_weight: {n} numbers expected, one for each row of X, got shape {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight: finite numbers >= 0 expected")
    if not weights.any():
        raise ValueError("sample_weight: a number > 0 expected, all are 0")
    return weights


try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.multiclass import check_classification_targets as check_labels

    try:
        from sklearn.utils.validation import validate_data as _validate  # from version 1.6 on
    except ImportError:

        def _validate(estimator, *data, **options):
            return estimator._validate_data(*data, **options)

    def validated(estimator, X):
        return _validate(estimator, X, accept_sparse="csr", dtype=TYPES, reset=False)

    def validated_pair(estimator, X, y, numeric: bool):
        return _validate(estimator, X, y, accept_sparse="csr", dtype=TYPES, multi_output=numeric, y_numeric=numeric)

except ImportError:

    class NotFittedError(ValueError, AttributeError):
        """An estimator is used before fit."""

    class BaseEstimator:
        """get_params and set_params by the keyword arguments of __init__."""

        @classmethod
        def _names(cls) -> list[str]:
            return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

        def get_params(self, deep=True) -> dict:
            return {name: getattr(self, name) for name in self._names()}

        def set_params(self, **params):
            for name, value in params.items():
                if name not in self._names():
                    raise ValueError(f"{type(self).__name__}: no parameter '{name}'; known: {', '.join(self._names())}")
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            defaults = inspect.signature(type(self).__init__).parameters
            given = (f"{n}={v!r}" for n, v in self.get_params().items() if v is not defaults[n].default)
            return f"{type(self).__name__}({', '.join(given)})"

    class ClassifierMixin:
        _estimator_type = "classifier"

        def score(self, X, y, sample_weight=None) -> float:
            """The share of rows whose class is predicted."""
            return float(np.average(self.predict(X) == np.asarray(y), weights=sample_weight))

    class RegressorMixin:
        _estimator_type = "regressor"

        def score(self, X, y, sample_weight=None) -> float:
            """R², the mean over targets of 1 - Σ(y - f)² / Σ(y - ȳ)²."""
            y = np.asarray(y, dtype=np.float64)
            mean = np.average(y, axis=0, weights=sample_weight)
            left = np.average((y - self.predict(X)) ** 2, axis=0, weights=sample_weight)
            return float(np.mean(1 - left / np.average((y - mean) ** 2, axis=0, weights=sample_weight)))

    def check_labels(y) -> None:
        if y.dtype.kind == "f" and (y != np.floor(y)).any():
            raise ValueError("Unknown label type: 'continuous'; classes expected, such as whole numbers or names")

    def _rows(X):
        X = X.tocsr() if is_sparse(X) else np.asarray(X)
        if X.dtype.kind == "c":
            raise ValueError("Complex data not supported: X")
        X = X if X.dtype in TYPES else X.astype(TYPES[0])
        if X.ndim != 2 or 0 in X.shape:
            raise ValueError(f"X: a matrix of at least one row and one column expected, got shape {X.shape}")
        if not np.isfinite(X.data if is_sparse(X) else X).all():
            raise ValueError("X: finite numbers expected, got NaN or infinity")
        return X

    def _names_of(X):
        names = list(getattr(X, "columns", []))
        return np.array(names, dtype=object) if names and all(isinstance(name, str) for name in names) else None

    def validated(estimator, X):
        names, known = _names_of(X), getattr(estimator, "feature_names_in_", None)
        if names is not None and known is not None and list(names) != list(known):
            raise ValueError(f"X: the columns {', '.join(known)} expected, as in fit, got {', '.join(names)}")
        X = _rows(X)
        if X.shape[1] != estimator.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting "
                             f"{estimator.n_features_in_} features as input")  # fmt: skip
        return X

    def validated_pair(estimator, X, y, numeric: bool):
        if y is None:
            raise ValueError("y: targets expected, got None")
        names, X, y = _names_of(X), _rows(X), np.asarray(y)
        y = y.astype(np.float64) if numeric else y.ravel() if y.shape == (len(y), 1) else y
        if y.ndim not in ((1, 2) if numeric else (1,)) or len(y) != X.shape[0]:
            raise ValueError(f"y: a target for each of the {X.shape[0]} rows of X expected, got shape {y.shape}")
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("y: finite numbers expected, got NaN or infinity")
        estimator.n_features_in_ = X.shape[1]
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        if names is not None:
            estimator.feature_names_in_ = names
        return X, y
