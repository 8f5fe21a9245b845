"""load_model against `kbcd predict`: every kernel, both precisions, and all that a model file may hold."""

import os
import tempfile
import unittest

import examples
import numpy as np
from examples import relative, run

import kbcd

KERNELS = {
    "rbf": [],
    "laplacian": [],
    "matern": [["--nu", 0.5], ["--nu", 1.5], ["--nu", 2.5]],
    "polynomial": [["--degree", 2, "--gamma", 0.5, "--c", 2]],
    "linear": [],
    "cosine": [],
}
CLOSE = {"f64": 1e-10, "f32": 1e-5}


@unittest.skipUnless(examples.has("h5py"), "h5py is not installed (package python3-h5py)")
class LoadModel(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        X, self.T = examples.rows() + [0, 3, 0], examples.rows(20, seed=1) + [0, 3, 0]
        np.save("X.npy", X)
        np.save("T.npy", self.T)
        np.save("y.npy", np.c_[examples.targets(X), X[:, 2] ** 2])
        np.save("classes.npy", examples.labels(X - [0, 3, 0]) * 10 - 10)

    def train(self, *words, y="y.npy", task="regress", precision="f64"):
        run("--threads", 1, "train", "--x", "X.npy", "--y", y, "--task", task, "--model", "m.h5", "--hold-out", 0, "--quiet",
            "--precision", precision, *words)  # fmt: skip
        return kbcd.load_model("m.h5")

    def predicted(self, *words, x="T.npy"):
        run("--threads", 1, "predict", "--model", "m.h5", "--x", x, "--out", "out.npy", *words)
        return np.load("out.npy")

    def compare(self, model, T=None, precision="f64", x="T.npy"):
        scores = model.scores(self.T if T is None else T)
        error = relative(scores, self.predicted("--scores", x=x).reshape(scores.shape))
        self.assertLess(error, CLOSE[precision])

    def test_every_kernel(self):
        for kernel, settings in KERNELS.items():
            for words in settings or [[]]:
                for precision in CLOSE:
                    with self.subTest(kernel=kernel, words=words, precision=precision):
                        lambdas = "1,0.1" if kernel in ("polynomial", "linear") else "1e-2,1e-3"
                        width = ["--sigma", 2] if kernel in ("rbf", "laplacian", "matern") else []
                        model = self.train("--kernel", kernel, "--lambda", lambdas, *words, *width, precision=precision)
                        self.compare(model, precision=precision)
                        self.assertEqual(model.predict(self.T).shape, (20, 2))
                        self.assertIn(model.lambda_, [float(text) for text in lambdas.split(",")])

    def test_independent_of_kbcd(self):
        X, y = np.load("X.npy"), np.load("y.npy")
        y -= y.mean(axis=0)  # kbcd may centre them
        np.save("y.npy", y)
        model = self.train("--sigma", 1, "--lambda", 1e-3)
        alpha = np.linalg.solve(examples.rbf(X, X) + 60e-3 * np.eye(60), y)
        self.assertLess(relative(model.predict(self.T), examples.rbf(self.T, X) @ alpha), 1e-8)

    def test_preprocessing(self):
        for kind in ("--standardize", "--scale01", "--unit-norm"):
            for precision in CLOSE:
                with self.subTest(kind=kind, precision=precision):
                    self.compare(self.train(kind, "--sigma", 1, "--lambda", 1e-2, precision=precision), precision=precision)

    def test_centres_and_metrics(self):
        for words in (["--method", "nystrom", "--p", 20, "--sigma", 1], ["--sigma", "1,2,3"], ["--method", "rfm"]):
            with self.subTest(words=words):
                self.compare(self.train("--lambda", 1e-2, *words))

    def test_sparse_centres(self):
        random = np.random.default_rng(5)
        for name in ("train.svm", "test.svm"):
            with open(name, "w") as file:
                for _ in range(40):
                    places = np.sort(random.choice(30, 4, replace=False)) + 1
                    file.write(" ".join([f"{random.normal()!r}", *(f"{j}:{random.normal()!r}" for j in places)]) + "\n")
        T = np.zeros((40, 30))
        with open("test.svm") as file:
            for row, line in zip(T, file):
                for entry in line.split()[1:]:
                    row[int(entry.split(":")[0]) - 1] = float(entry.split(":")[1])
        for kernel in KERNELS:
            with self.subTest(kernel=kernel):
                run("train", "--data", "train.svm", "--task", "regress", "--model", "m.h5", "--hold-out", 0, "--quiet",
                    "--precision", "f64", "--kernel", kernel, "--lambda", 0.1, "--option", "features=30")  # fmt: skip
                model = kbcd.load_model("m.h5")
                self.assertEqual(kbcd.model.is_sparse(model._centers), examples.has("scipy"))
                self.compare(model, T, x="test.svm")
                if examples.has("scipy"):
                    from scipy.sparse import csc_matrix

                    self.compare(model, csc_matrix(T), x="test.svm")

    def test_classes_and_probabilities(self):
        for words in (["--loss", "logistic"], []):
            for precision in CLOSE:
                with self.subTest(words=words, precision=precision):
                    model = self.train("--sigma", 1, "--lambda", 1e-3, *words, y="classes.npy", task="classify",
                                       precision=precision)  # fmt: skip
                    np.testing.assert_array_equal(model.predict(self.T), self.predicted())
                    self.assertEqual(model.classes.tolist(), [-10, 0, 10])
                    self.compare(model, precision=precision)
                    probabilities = model.probabilities(self.T)
                    self.assertLess(relative(probabilities, self.predicted("--probabilities")), CLOSE[precision] * 10)
                    np.testing.assert_allclose(probabilities.sum(axis=1), 1)

    def test_names_of_classes(self):
        with open("d.csv", "w") as file:
            for x, c in zip(examples.rows(), examples.labels(examples.rows())):
                file.write(f"{x[0]},{x[1]},{['red', 'green', 'blue'][c]}\n")
        run("train", "--data", "d.csv", "--label", 3, "--model", "m.h5", "--hold-out", 0, "--quiet", "--header", "no",
            "--sigma", 1, "--lambda", 1e-3)  # fmt: skip
        try:
            model = kbcd.load_model("m.h5")
        except kbcd.UnsupportedModel as error:  # a model of a table
            return self.assertIn("kbcd predict", str(error))
        np.save("T.npy", self.T[:, :2])
        self.assertEqual(model.predict(self.T[:, :2]).tolist(), [name.decode() for name in self.predicted()])

    def test_what_is_refused(self):
        with self.assertRaisesRegex(kbcd.UnsupportedModel, "fourier.*use `kbcd predict`"):
            self.train("--method", "random_features", "--p", 50, "--sigma", 1, "--lambda", 1e-2)
        import h5py

        model = self.train("--sigma", 1, "--lambda", 1e-2)
        with self.assertRaisesRegex(ValueError, "rows of 3 numbers expected.*(20, 2)"):
            model.predict(self.T[:, :2])
        with self.assertRaisesRegex(ValueError, "finite"):
            model.predict(self.T * np.nan)
        with self.assertRaisesRegex(ValueError, "no probabilities"):
            model.probabilities(self.T)
        with h5py.File("m.h5", "r+") as file:
            file.create_group("table")
        with self.assertRaisesRegex(kbcd.UnsupportedModel, "/table.*kbcd predict"):
            kbcd.load_model("m.h5")
        with h5py.File("m.h5", "r+") as file:
            file.create_group("pipeline").attrs["kind"] = np.bytes_("text")
        with self.assertRaisesRegex(kbcd.UnsupportedModel, "a pipeline .*raw input: text.*kbcd predict"):
            kbcd.load_model("m.h5")
        with open("m.h5", "wb") as file:
            file.write(b"nonsense")
        with self.assertRaisesRegex(ValueError, "m.h5: no kbcd model file"):
            kbcd.load_model("m.h5")
        with h5py.File("other.h5", "w") as file:
            file["x"] = [1]
        with self.assertRaisesRegex(ValueError, "other.h5: no kbcd model file"):
            kbcd.load_model("other.h5")
        with self.assertRaisesRegex(FileNotFoundError, "nowhere.h5"):
            kbcd.load_model("nowhere.h5")


if __name__ == "__main__":
    unittest.main()
