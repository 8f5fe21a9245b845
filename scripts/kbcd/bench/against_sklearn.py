"""scikit-learn's side of `kbcd bench --against sklearn`: fits one method on .npy files and prints a line of JSON.

Usage: against_sklearn.py '{"folder": …, "method": "full_kernel" | "nystrom" | "random_features",
       "n": …, "p": …, "gamma": …, "lambda": …}'
Nystroem has kbcd's centres (centers.npy, row numbers from 1): of random ones each side would draw others, and be a tenth
of a percent better or worse by that alone.
The objective is kbcd's, (1/n)|Zw - Y|^2 + lambda |w|^2, so alpha is n lambda; targets are 1 and -1; all in f32.
"""
import json
import sys
import time

import numpy as np
import sklearn
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_info

s = json.loads(sys.argv[1])


def rows(name):
    return np.load(f"{s['folder']}/{name}.npy")


X, y = rows("X")[: s["n"]].astype(np.float32), rows("y")[: s["n"]].astype(int)
X_test, y_test = rows("X_test").astype(np.float32), rows("y_test").astype(int)
classes = np.unique(y)
Y = np.where(y[:, None] == classes, 1, -1).astype(np.float32)



class GivenCentres(Nystroem):
    def fit(self, X, y=None):
        return super().fit(X[rows("centers").astype(int).ravel() - 1])


alpha = s["n"] * s["lambda"]
ridge = Ridge(alpha=alpha, fit_intercept=False)
if s["method"] == "full_kernel":
    model = KernelRidge(kernel="rbf", gamma=s["gamma"], alpha=alpha)
elif s["method"] == "nystrom":
    model = make_pipeline(GivenCentres(kernel="rbf", gamma=s["gamma"], n_components=s["p"], random_state=1), ridge)
else:
    model = make_pipeline(RBFSampler(gamma=s["gamma"], n_components=s["p"], random_state=1), ridge)

start = time.perf_counter()
model.fit(X, Y)
fitted = time.perf_counter()
scores = model.predict(X_test)
done = time.perf_counter()
blas = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
print(json.dumps({
    "seconds": fitted - start,
    "predict_seconds": done - fitted,
    "error": float(np.mean(classes[scores.argmax(1)] != y_test)),
    "dtype": str(scores.dtype),
    "versions": f"scikit-learn {sklearn.__version__}, numpy {np.__version__}",
    "blas": ", ".join(
        f"{pool['internal_api']} {pool['version']} ({pool.get('architecture', '?')} kernels, {pool['num_threads']} threads)"
        for pool in blas),
}))
