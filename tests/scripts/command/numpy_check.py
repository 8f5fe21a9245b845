"""What `kbcd train` and `kbcd predict` give against the direct formulas in NumPy; numpy_spec.lua runs it.

For each method, from .npy and sparse libsvm inputs on 1 and 3 ranks, from HDF5 and dense libsvm on 2: a model trained in f64 to
convergence predicts what solving the whole system at once predicts, to 1e-6. KBCD and KBCD_MPIRUN name the program and mpirun, as in the other tests.
"""

import gzip
import os
import shlex
import subprocess
import sys
import tempfile

import numpy as np

kbcd = os.environ["KBCD"]
mpirun = shlex.split(os.environ.get("KBCD_MPIRUN", "mpirun --oversubscribe"))
n, d, sigma, lambdas, p, gamma = 160, 3, 0.5, [1e-2, 1e-3], 36, 1.0
checks = 0


def run(ranks, *arguments):
    command = ([*mpirun, "-n", str(ranks)] if ranks > 1 else []) + [kbcd, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=200)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}\nstatus {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def rbf(A, B):
    return np.exp(-((A[:, None, :] - B[None, :, :]) ** 2).sum(2) / (2 * sigma**2))


def full_kernel(X, Y, T, lam, _):
    return rbf(T, X) @ np.linalg.solve(rbf(X, X) + n * lam * np.eye(n), Y)


def nystrom(X, Y, T, lam, exported):
    C = exported["centers"]
    assert len(np.unique(C, axis=0)) == p and all((np.abs(X - c).max(1) < 1e-12).any() for c in C), "centres are rows of X"
    K, KJJ = rbf(X, C), rbf(C, C)
    H = K.T @ K + n * lam * KJJ + n * lam * gamma * np.eye(p)
    return rbf(T, C) @ np.linalg.solve(H, K.T @ Y)


def falkon(X, Y, T, lam, exported):
    C = exported["centers"]
    K = rbf(X, C)
    return rbf(T, C) @ np.linalg.solve(K.T @ K + n * lam * rbf(C, C), K.T @ Y)


def random_features(X, Y, T, lam, exported):
    Z, Zt = exported["features"], exported["test_features"]
    assert np.abs(Z @ Z.T - rbf(X, X)).max() < 1.5, "features of the kernel"
    return Zt @ np.linalg.solve(Z.T @ Z + n * lam * np.eye(p), Z.T @ Y)


EXPORT = """
local kbcd = require "kbcd"
local m = kbcd.model_file.load(arg[1])
local function save(name, A)
  local out = kbcd.row_writer(name, "npy", "f8", A.ncols)
  out:write(A)
  out:close()
end
if m.kernel then return save("centers.npy", m.X:to_dense().rows) end
for name, file in pairs{ features = arg[2], test_features = arg[3] } do
  local X = require("kbcd.data.read_data")(file)
  save(name .. ".npy", kbcd.RandomFeaturesBlock(X, kbcd.Index.range(1, m.map.p), m.map):dense())
end
"""

TO_HDF5 = """
local kbcd = require "kbcd"
local file = kbcd.h5.create("data.h5")
for i = 1, #arg do file:append("/" .. arg[i], kbcd.load(arg[i] .. ".npy").rows) end
file:close()
"""


def close(got, expected, what):
    global checks
    error = np.abs(got - expected).max() / np.abs(expected).max()
    if not error <= 1e-6:
        sys.exit(f"{what}: off by {error:.3g}, more than 1e-6")
    checks += 1


def write_libsvm(name, Y, X):
    with (gzip.open if name.endswith(".gz") else open)(name, "wt") as file:
        for targets, row in zip(Y, X):
            entries = [f"{j + 1}:{x:.17g}" for j, x in enumerate(row) if x != 0]
            file.write(" ".join([",".join(f"{t:.17g}" for t in targets), *entries]) + "\n")


def write_hdf5(arrays):
    try:
        import h5py

        with h5py.File("data.h5", "w") as file:
            for name, array in arrays.items():
                file[name] = array
    except ImportError:
        run(1, "-e", TO_HDF5, *arrays)


def check_csr_of_h5py(X):
    """The centres of a model of sparse data are CSR as h5py reads it: here, the rows in their order."""
    try:
        import h5py
    except ImportError:
        return print("not checked: sparse centres by h5py (package python3-h5py)")
    with h5py.File("m.h5") as file:
        values, columns, starts = (file["centers"][name][:] for name in ("values", "columns", "starts"))
    assert values.dtype == np.float64 and columns.dtype == np.int32 and starts.dtype == np.int64
    dense = np.zeros_like(X)
    for i in range(len(starts) - 1):
        dense[i, columns[starts[i] : starts[i + 1]]] = values[starts[i] : starts[i + 1]]
    assert (dense == X).all(), "sparse centres"


def check(method, source, ranks, X, T, Y, train, test, classes):
    """One model of the rows X and targets Y, trained and tested from the files that `train` and `test` name."""
    block = 40 if method is full_kernel else p if ranks == 1 and source == "npy" else 18
    blocks = ["--b", block]
    own = {
        "full_kernel": blocks,
        "nystrom": ["--p", p, "--nystrom-gamma", gamma, *blocks],
        "random_features": ["--p", p, *blocks],
        "falkon": ["--p", p],
    }
    rows = train[1]
    run(ranks, "train", *train, "--hold-out", 0, "--method", method.__name__, "--sigma", sigma, "--lambda",
        ",".join(map(str, lambdas)), "--epochs", 4000, "--tol", 1e-9, "--precision", "f64", "--model", "m.h5",
        "--quiet", *own[method.__name__])  # fmt: skip
    run(1, "-e", EXPORT, "m.h5", rows, test)
    exported = {f[:-4]: np.load(f) for f in ("centers.npy", "features.npy", "test_features.npy") if os.path.exists(f)}
    if source == "sparse" and method is full_kernel:
        check_csr_of_h5py(X)
    mean = 0 if classes is not None else Y.mean(0)  # real targets are centred
    for lam in lambdas:
        expected = method(X, Y - mean, T, lam, exported) + mean
        what = f"{method.__name__}, {source}, {ranks} ranks, lambda {lam}"
        run(ranks, "predict", "--model", "m.h5", "--x", test, "--lambda", lam, "--scores", "--out", "s.npy")
        close(np.load("s.npy"), expected, what)
        if classes is not None and lam == lambdas[0]:
            run(ranks, "predict", "--model", "m.h5", "--x", test, "--lambda", lam, "--out", "c.npy")
            predicted = np.load("c.npy")
            assert predicted.dtype == np.int64 and predicted.shape == (50,), what
            assert (predicted == classes[expected.argmax(1)]).all(), what


def main():
    random = np.random.default_rng(7)
    X, T = random.standard_normal((n, d)), random.standard_normal((50, d))
    labels = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.5, 0.5]) * 5 - 2
    classes = np.array([-2, 3, 8])
    targets = np.stack([np.sin(2 * X[:, 0]) + X[:, 1], X[:, 2] ** 2], 1)
    one_vs_all = np.where(labels[:, None] == classes[None, :], 1.0, -1.0)
    wide = np.zeros((d, 11))  # the same rows among columns of zeros: kbcd keeps them sparse
    wide[[0, 1, 2], [1, 4, 10]] = 1
    arrays = dict(X=X, T=T, labels=labels, targets=targets)
    for name, array in arrays.items():
        np.save(name + ".npy", array)
    write_hdf5(arrays)
    write_libsvm("X.svm", labels[:, None], X)
    write_libsvm("T.svm", np.zeros((50, 1)), T)
    write_libsvm("sparse.svm", targets, X @ wide)
    write_libsvm("sparse_test.svm.gz", np.zeros((50, 1)), T @ wide)

    sources = dict(
        npy=(X, T, one_vs_all, ["--x", "X.npy", "--y", "labels.npy"], "T.npy", classes),
        hdf5=(X, T, targets, ["--x", "data.h5:/X", "--y", "data.h5:/targets"], "data.h5:/T", None),
        libsvm=(X, T, one_vs_all, ["--data", "X.svm"], "T.svm", classes),
        sparse=(X @ wide, T @ wide, targets, ["--data", "sparse.svm"], "sparse_test.svm.gz", None),
    )
    for method in (full_kernel, nystrom, random_features, falkon):
        for source, settings in sources.items():
            for ranks in (1, 3) if source in ("npy", "sparse") else (2,):
                check(method, source, ranks, *settings)

    # Preprocessing: the same formulas on standardised data.
    run(3, "train", "--x", "X.npy", "--y", "targets.npy", "--hold-out", 0, "--method", "full_kernel", "--sigma", sigma,
        "--lambda", 1e-2, "--b", 40, "--epochs", 2000, "--tol", 1e-9, "--precision", "f64", "--standardize", "--model",
        "m.h5")  # fmt: skip
    run(1, "predict", "--model", "m.h5", "--x", "T.npy", "--out", "s.npy")
    mean, deviation = X.mean(0), X.std(0)
    shift = targets.mean(0)
    expected = full_kernel((X - mean) / deviation, targets - shift, (T - mean) / deviation, 1e-2, None) + shift
    close(np.load("s.npy"), expected, "standardised")
    print(f"{checks} comparisons with NumPy agree to 1e-6")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
