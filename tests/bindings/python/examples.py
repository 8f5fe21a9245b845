"""What the tests of the Python package share: small problems, the program, and which modules and flags there are."""

import functools
import importlib.util
import os
import subprocess
import tempfile

import numpy as np

from kbcd.program import _environment

KBCD = os.environ["KBCD"]
PLAIN = {"sigma": 1.0, "lambda_": 1e-3, "threads": 1}  # nothing is left to choose


def has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


@functools.lru_cache
def has_flag(flag: str) -> bool:
    return flag in subprocess.run([KBCD, "train", "--help"], capture_output=True, text=True, check=True).stdout


def rows(n=60, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def targets(X):
    return np.sin(X[:, 0]) + X[:, 1]


def labels(X):
    """0, 1 and 2, by the first two columns, with some noise."""
    noise = np.random.default_rng(1).normal(size=len(X)) / 3
    return (X[:, 0] + noise > 0).astype(int) + (X[:, 1] > 0.5)


def rbf(A, B, sigma=1.0):
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(2) / (2 * sigma**2))


def relative(got, expected) -> float:
    assert np.shape(got) == np.shape(expected), (np.shape(got), np.shape(expected))
    return np.abs(got - expected).max() / np.abs(expected).max()


def run(*words) -> str:
    result = subprocess.run([KBCD, *map(str, words)], capture_output=True, text=True, env=_environment(None))
    assert result.returncode == 0, f"kbcd {' '.join(map(str, words))}\n{result.stderr}"
    return result.stdout


def temporary_folders() -> set:
    return {name for name in os.listdir(tempfile.gettempdir()) if name.startswith("kbcd-")}
