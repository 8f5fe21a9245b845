"""train, predict and evaluate on what NumPy, SciPy and scikit-learn write, against the formula; formats_spec.lua runs it.

Sparse matrices of save_npz with labels that are texts (.npy, .npz), and svmlight files that count columns from 0 or 1, on 1
and 3 ranks: the scores are those of the kernel machine K(T, X) (K(X, X) + n lambda I)^-1 Y, to 1e-6.
"""

import os
import shlex
import subprocess
import sys
import tempfile

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

kbcd = os.environ["KBCD"]
mpirun = shlex.split(os.environ.get("KBCD_MPIRUN", "mpirun --oversubscribe"))
n, d, sigma, lam = 90, 5, 1.5, 1e-2
checks = 0


def run(ranks, *arguments, refused=None):
    """The standard output; with `refused`, the command must fail, and each of these texts be in its message."""
    global checks
    command = ([*mpirun, "-n", str(ranks)] if ranks > 1 else []) + [kbcd, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=200)
    what = f"{' '.join(command)}\nstatus {result.returncode}\n{result.stdout}{result.stderr}"
    if (result.returncode == 0) == (refused is not None):
        sys.exit(what)
    for text in refused or ():
        if text not in result.stderr:
            sys.exit(f"{what}\n'{text}' expected")
    checks += 1
    return result.stdout


def rbf(A, B):
    return np.exp(-((A[:, None, :] - B[None, :, :]) ** 2).sum(2) / (2 * sigma**2))


def scores(X, y, T):
    Y = np.where(y[:, None] == np.unique(y)[None, :], 1.0, -1.0)
    return rbf(T, X) @ np.linalg.solve(rbf(X, X) + n * lam * np.eye(n), Y)


def train(ranks, *arguments, **more):
    return run(ranks, "train", *arguments, "--hold-out", 0, "--method", "full_kernel", "--b", n, "--sigma", sigma, "--lambda",
               lam, "--epochs", 3, "--precision", "f64", "--model", "m.h5", **more)  # fmt: skip


def check(ranks, test, X, y, T, *options):
    """The model m.h5 of X and y gives the scores, and classes that are texts, of the rows T, which the file `test` holds."""
    expected = scores(X, y, T)
    run(ranks, "predict", "--model", "m.h5", "--x", test, "--scores", "--out", "s.npy", *options)
    error = np.abs(np.load("s.npy") - expected).max() / np.abs(expected).max()
    if not error <= 1e-6:
        sys.exit(f"{test}: off by {error:.3g}, more than 1e-6")
    if y.dtype.kind != "U":
        return
    run(ranks, "predict", "--model", "m.h5", "--x", test, "--out", "p.npy", *options)
    if not (np.char.decode(np.load("p.npy"), "utf-8") == np.unique(y)[expected.argmax(1)]).all():
        sys.exit(f"{test}: other classes than the formula's")


def sparse_with_texts(X, T, y, yt):
    np.save("y.npy", y)
    np.save("bytes.npy", np.char.encode(y, "utf-8"))
    np.savez("d.npz", X=X, y=y)
    np.save("yt.npy", yt)
    np.save("texts.npy", np.array([["a", "b"]] * n))
    for form, labels, ranks in (("csr", "y.npy", 1), ("csc", "d.npz:y", 3), ("coo", "bytes.npy", 3)):
        sp.save_npz("X.npz", getattr(sp.csr_matrix(X), "to" + form)())
        sp.save_npz("T.npz", getattr(sp.csr_matrix(T), "to" + form)(), compressed=ranks == 1)
        train(ranks, "--x", "X.npz", "--y", labels)
        check(ranks, "T.npz", X, y, T)
        wrong = 100 * (np.unique(y)[scores(X, y, T).argmax(1)] != yt).mean()
        text = run(ranks, "evaluate", "--model", "m.h5", "--x", "T.npz", "--y", "yt.npy")
        if f"top-1 error {wrong:.2f}%" not in text or "grün" not in text:
            sys.exit(f"error {wrong:.2f}% and the class grün expected in: {text}")
        text = run(ranks, "evaluate", "--model", "m.h5", "--x", "T.npz", "--y", "p.npy")  # what predict wrote
        if "top-1 error 0.00%" not in text:
            sys.exit(f"no error expected in: {text}")
    train(3, "--x", "texts.npy", "--y", "y.npy", refused=["texts.npy: numbers expected", "90x2"])
    train(1, "--x", "y.npy", "--y", "y.npy", refused=["y.npy: numbers expected", "--y"])
    np.save("holes.npy", np.where(np.arange(n) == 50, "nan", y))
    train(1, "--x", "X.npz", "--y", "holes.npy", refused=["holes.npy: row 51: a label expected"])


def svmlight(X, T, y, yt):
    T0 = T.copy()
    T0[:, 0] = 0  # no row shows that columns count from 0
    for zero_based, ranks in ((True, 3), (False, 1)):
        dump_svmlight_file(X, y, "train.svm", zero_based=zero_based)
        dump_svmlight_file(T, yt, "test.svm", zero_based=zero_based)
        dump_svmlight_file(T0, yt, "test0.svm", zero_based=zero_based)
        dump_svmlight_file(T0, yt, "said.svm", zero_based=zero_based, comment="mine")
        dump_svmlight_file(T0, yt, "other.svm", zero_based=not zero_based, comment="mine")
        text = train(ranks, "--data", "train.svm", "--test-data", "test0.svm")
        if ("train.svm: its columns count from 0" in text) != zero_based:
            sys.exit(text)
        for name, rows in (("test.svm", T), ("test0.svm", T0), ("said.svm", T0)):
            check(ranks, name, X, y, rows)
        run(ranks, "predict", "--model", "m.h5", "--x", "other.svm", "--out", "p.npy",
            refused=["other.svm: ", "zero_based"])  # fmt: skip
        check(ranks, "other.svm", X, y, T0, "--option", f"zero_based={str(not zero_based).lower()}")
        run(ranks, "evaluate", "--model", "m.h5", "--data", "test0.svm")
    dump_svmlight_file(T, yt, "test.svm", zero_based=True)  # of a model of columns that count from 1
    run(3, "predict", "--model", "m.h5", "--x", "test.svm", "--out", "p.npy", refused=["indices count from 1"])
    T0[:, 4] = 0  # nor that they do not
    dump_svmlight_file(T0, yt, "said.svm", zero_based=True, comment="mine")
    run(1, "predict", "--model", "m.h5", "--x", "said.svm", "--out", "p.npy", refused=["said.svm: its comment says that columns "
        "count from 0, those of the training file counted from 1; --option zero_based=true or false decides"])  # fmt: skip


def foreign():
    with open("d.parquet", "wb") as file:
        file.write(b"PAR1\x15\0" + bytes(50) + b"PAR1")
    for ranks in (1, 3):
        train(ranks, "--data", "d.parquet", "--label", "y", refused=["d.parquet: a Parquet file", "pandas.read_parquet("])


def main():
    rng = np.random.default_rng(3)
    X, T = (rng.integers(1, 4, (rows, d)) * (rng.random((rows, d)) < 0.5) + 0.0 for rows in (n, 20))
    X += 0.01 * rng.random(X.shape) * (X > 0)
    X[0] = 1  # every column has an entry
    T[0] = 1
    names = np.array(["rot", "grün", "blau b"])

    def labels(A):
        return (A @ np.arange(1, d + 1) / 9).astype(int) % 3

    sparse_with_texts(X, T, names[labels(X)], names[labels(T)])
    svmlight(X, T, labels(X), labels(T))
    foreign()
    print(f"{checks} commands on files of NumPy, SciPy and scikit-learn")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
