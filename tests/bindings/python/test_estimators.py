"""KernelRegressor and KernelClassifier: what they predict, what they take, their errors, and what they leave behind."""

import contextlib
import io
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import examples
import numpy as np
from examples import PLAIN, relative

import kbcd
from kbcd import KbcdError, KernelClassifier, KernelRegressor, estimators, program

PACKAGE = os.path.dirname(os.path.dirname(kbcd.__file__))
X, T = examples.rows(), examples.rows(20, seed=1)


def by_program():
    """Every score comes from `kbcd predict`."""
    return mock.patch.object(estimators, "NUMPY_WORK", -1)


class Frame:
    """As much of a data frame as names of columns need."""

    def __init__(self, values, columns):
        self.values, self.columns, self.shape = values, columns, values.shape
        self.dtypes, self.iloc = None, None

    def __len__(self):
        return len(self.values)

    def __array__(self, dtype=None):
        return self.values.astype(dtype) if dtype else self.values


class Estimators(unittest.TestCase):
    def setUp(self):
        before = examples.temporary_folders()
        self.addCleanup(lambda: self.assertEqual(examples.temporary_folders() - before, set(), "temporary folders stay"))

    def test_regression(self):
        y = examples.targets(X)
        y -= y.mean()  # kbcd may centre them
        model = KernelRegressor(precision="f64", **PLAIN).fit(X, y)
        expected = examples.rbf(T, X) @ np.linalg.solve(examples.rbf(X, X) + 60e-3 * np.eye(60), y)
        self.assertLess(relative(model.predict(T), expected), 1e-8)
        with by_program():
            self.assertLess(relative(model.predict(T), KernelRegressor(precision="f64", **PLAIN).fit(X, y).predict(T)), 1e-9)
        self.assertGreater(model.score(X, y), 0.9)
        two = KernelRegressor(precision="f64", **PLAIN).fit(X, np.c_[y, -y]).predict(T)
        np.testing.assert_allclose(two, np.c_[model.predict(T), -model.predict(T)], rtol=1e-6)

    def test_nothing_given(self):
        y = examples.targets(X)
        self.assertGreater(KernelRegressor().fit(X, y).score(T, examples.targets(T)), 0.8)
        self.assertGreater(KernelClassifier().fit(X, y > 0).score(T, examples.targets(T) > 0), 0.7)

    def test_classification(self):
        names = np.array(["red", "green", "blue"])[examples.labels(X)]
        model = KernelClassifier(**PLAIN).fit(X, names)
        self.assertEqual(model.classes_.tolist(), ["blue", "green", "red"])
        self.assertGreater(model.score(X, names), 0.8)
        self.assertEqual(model.decision_function(T).shape, (20, 3))
        with by_program():
            scores, probabilities = model.decision_function(T), model.predict_proba(T)
            np.testing.assert_array_equal(model.predict(T), model.classes_[scores.argmax(axis=1)])
        self.assertLess(relative(model.decision_function(T), scores), 1e-4)
        self.assertLess(relative(model.predict_proba(T), probabilities), 1e-4)
        two = KernelClassifier(loss="logistic", **PLAIN).fit(X, names == "red")
        decision, P = two.decision_function(T), two.predict_proba(T)
        np.testing.assert_array_equal(decision > 0, two.predict(T))
        np.testing.assert_allclose(np.log(P[:, 1] / P[:, 0]), decision, rtol=1e-6)

    def test_flags(self):
        self.assertEqual(
            program.flags({"lambda_": [1e-3, 0.1], "hold_out": 0, "quiet": True, "raw": False, "p": None, "sigma": np.float32(2)}),
            ["--lambda", "0.001,0.1", "--hold-out", "0", "--quiet", "--sigma", "2.0"],
        )
        y = examples.targets(X)
        few = KernelRegressor(method="nystrom", p=20, options={"centers": "rpcholesky"}, random_state=3, **PLAIN).fit(X, y)
        self.assertGreater(few.score(X, y), 0.7)
        wide = X * [1, 1e3, 1]
        scaled = [KernelRegressor(standardize=s, **PLAIN).fit(wide, y).score(wide * 1.01, y) for s in (True, False)]
        self.assertGreater(scaled[0], scaled[1] + 0.2)

    @unittest.skipUnless(examples.has("h5py"), "h5py is not installed")
    def test_all_rows_train(self):
        """Without hold_out, the model has a coefficient for each row: none is held out."""
        model = KernelRegressor().fit(X, examples.targets(X))
        self.assertEqual(model._fitted._in_numpy()._centers.shape[0], len(X))

    def test_features_are_predicted_by_the_program(self):
        y = examples.targets(X)
        model = KernelRegressor(method="random_features", p=300, **PLAIN).fit(X, y)
        self.assertGreater(model.score(X, y), 0.7)

    def test_pickle(self):
        y = examples.targets(X)
        model = KernelRegressor(**PLAIN).fit(X, y)
        expected = model.predict(T)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(T), expected)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.h5")
            model.save_model(path)
            if examples.has("h5py"):
                np.testing.assert_array_equal(kbcd.load_model(path).predict(T), expected)

    def test_ranks(self):
        y = examples.targets(X)
        one, two = (KernelRegressor(ranks=ranks, precision="f64", **PLAIN).fit(X, y) for ranks in (None, 2))
        self.assertLess(relative(two.predict(T), one.predict(T)), 1e-9)
        with by_program():
            self.assertLess(relative(two.predict(T), one.predict(T)), 1e-9)
        with self.assertRaisesRegex(KbcdError, r"^\[rank \d/2\] kbcd train: --b 1000: at most 60.*expected$"):
            KernelRegressor(ranks=2, b=1000, **PLAIN).fit(X, y)

    @unittest.skipUnless(examples.has("scipy"), "SciPy is not installed (package python3-scipy)")
    def test_sparse_rows(self):
        from scipy.sparse import coo_matrix, csr_matrix

        few = np.where(np.random.default_rng(3).random((60, 20)) < 0.15, 1.5, 0.0)
        few[7] = 0
        y = few[:, 0] + few[:, 19]
        dense, sparse = (KernelRegressor(precision="f64", **PLAIN).fit(A, y) for A in (few, csr_matrix(few)))
        self.assertLess(relative(sparse.predict(coo_matrix(few)), dense.predict(few)), 1e-9)
        with by_program():
            self.assertLess(relative(sparse.predict(csr_matrix(few)), dense.predict(few)), 1e-9)
        self.assertEqual(sparse.n_features_in_, 20)
        empty = csr_matrix((60, 20))  # no entry at all
        self.assertEqual(KernelRegressor(**PLAIN).fit(empty, y).predict(empty).shape, (60,))

    def test_sample_weight(self):
        y, zeros = examples.targets(X), np.arange(60) % 2
        without = KernelRegressor(**PLAIN).fit(X[zeros == 1], y[zeros == 1]).predict(T)
        np.testing.assert_array_equal(KernelRegressor(**PLAIN).fit(X, y, sample_weight=zeros).predict(T), without)
        for wrong in (zeros[1:], -zeros, zeros * 0, zeros[:, None]):
            with self.assertRaisesRegex(ValueError, "sample_weight"):
                KernelRegressor(**PLAIN).fit(X, y, sample_weight=wrong)
        if not examples.has_flag("--weights"):
            with self.assertRaisesRegex(KbcdError, "--weights"):
                KernelRegressor(**PLAIN).fit(X, y, sample_weight=zeros + 1)
            self.skipTest("this kbcd train has no --weights")
        counts = np.arange(60) % 3 + 1  # whole numbers are repeated rows
        model = KernelRegressor(precision="f64", **PLAIN)
        repeated = model.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).predict(T)
        self.assertLess(relative(model.fit(X, y, sample_weight=counts).predict(T), repeated), 1e-6)
        self.assertGreater(relative(model.fit(X, y, sample_weight=counts * 0 + 5).predict(T), repeated), 1e-3)

    def test_names_of_columns(self):
        frame = Frame(X, ["a", "b", "c"])
        model = KernelRegressor(**PLAIN).fit(frame, examples.targets(X))
        self.assertEqual(model.n_features_in_, 3)
        self.assertEqual(list(model.feature_names_in_), ["a", "b", "c"])
        with self.assertRaisesRegex(ValueError, "b"):
            model.predict(Frame(X, ["a", "c", "b"]))

    def test_errors(self):
        y = examples.targets(X)
        with self.assertRaisesRegex(KbcdError, r"^kbcd train: .*--sigma.*"):
            KernelRegressor(sigma=-1).fit(X, y)
        with self.assertRaisesRegex(KbcdError, "--method nonsense: one of .*full_kernel"):
            KernelRegressor(method="nonsense").fit(X, y)
        with self.assertRaises(KbcdError) as raised:
            KernelRegressor(b=1000, **PLAIN).fit(X, y)
        self.assertNotIn(tempfile.gettempdir(), str(raised.exception))
        with self.assertRaisesRegex(KbcdError, "'/no/such/kbcd' is none"):
            KernelRegressor(program="/no/such/kbcd").fit(X, y)
        with self.assertRaisesRegex(KbcdError, "ended with status 1"):
            KernelRegressor(program="false").fit(X, y)
        with self.assertRaisesRegex(ValueError, "one class"):
            KernelClassifier().fit(X, np.ones(60))
        with self.assertRaisesRegex(ValueError, "Unknown label type"):
            KernelClassifier().fit(X, y)
        with self.assertRaisesRegex(ValueError, "not fitted yet"):
            KernelClassifier().predict(X)
        with self.assertRaisesRegex(ValueError, "2 features, but KernelRegressor is expecting 3"):
            KernelRegressor(**PLAIN).fit(X, y).predict(X[:, :2])
        hinge = KernelClassifier(loss="hinge", hold_out=0, **PLAIN).fit(X, y > 0)
        with self.assertRaisesRegex((KbcdError, ValueError), "no probabilities"):
            hinge.predict_proba(X)

    def test_the_program(self):
        with mock.patch.dict(os.environ, {"PATH": os.path.dirname(examples.KBCD), "KBCD": ""}):
            with mock.patch.object(program, "_installed", lambda: "/no/such/kbcd"):
                self.assertEqual(kbcd.find_program(), examples.KBCD)
        with mock.patch.dict(os.environ, {"PATH": "", "KBCD": ""}), self.assertRaisesRegex(KbcdError, "not found"):
            kbcd.find_program()

    def test_verbose(self):
        told, silent = io.StringIO(), io.StringIO()
        with contextlib.redirect_stderr(told):
            KernelRegressor(verbose=True, **PLAIN).fit(X, examples.targets(X))
        with contextlib.redirect_stderr(silent):
            KernelRegressor(**PLAIN).fit(X, examples.targets(X))
        self.assertIn("60 rows of 3 numbers", told.getvalue())
        self.assertEqual(silent.getvalue(), "")

    def test_keyboard_interrupt(self):
        """Ctrl-C ends kbcd, which here would run for minutes, and leaves no files."""
        big, started, processes = np.random.default_rng(0).normal(size=(3000, 20)), time.monotonic(), []

        def start(*words, **settings):
            processes.append(start_process(*words, **settings))
            threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
            return processes[0]

        start_process = subprocess.Popen
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        with mock.patch.object(subprocess, "Popen", start), self.assertRaises(KeyboardInterrupt):
            KernelRegressor(method="nystrom", p=1000, b=20, epochs=100000, hold_out=0, **PLAIN).fit(big, big[:, 0])
        self.assertLess(time.monotonic() - started, 60)
        self.assertIsNotNone(processes[0].returncode)
        self.assertRaises(ProcessLookupError, os.kill, processes[0].pid, 0)

    def test_without_scikit_learn(self):
        """The package by itself, in an interpreter that has neither scikit-learn nor h5py nor SciPy."""
        code = """
            import sys
            sys.modules.update(sklearn=None, h5py=None, scipy=None)
            import numpy as np, kbcd
            X = np.random.default_rng(0).normal(size=(60, 3))
            y = np.sin(X[:, 0]) + X[:, 1]
            model = kbcd.KernelRegressor(sigma=1.0, lambda_=1e-3)
            assert model.set_params(threads=1).get_params()["threads"] == 1
            assert repr(model) == "KernelRegressor(lambda_=0.001, sigma=1.0, threads=1)", repr(model)
            assert model.fit(X, y).score(X, y) > 0.9
            classifier = kbcd.KernelClassifier(sigma=1.0, lambda_=1e-3).fit(X, np.where(y > 0, "up", "down"))
            assert classifier.score(X, np.where(y > 0, "up", "down")) > 0.9
            assert np.allclose(classifier.predict_proba(X).sum(axis=1), 1)
            for call, part in ((lambda: model.predict(X[:, :2]), "expecting 3"), (lambda: model.fit(X * np.nan, y), "NaN"),
                               (lambda: model.fit(X, y[1:]), "60 rows"), (lambda: model.set_params(x=1), "known: b, c"),
                               (lambda: kbcd.KernelClassifier().fit(X, y), "Unknown label type"),
                               (lambda: kbcd.KernelClassifier().predict(X), "not fitted")):
                try:
                    call()
                except ValueError as error:
                    assert part in str(error), error
                else:
                    raise AssertionError(part)
            try:
                kbcd.load_model("m.h5")
            except ImportError as error:
                assert "python3-h5py" in str(error)
        """
        code = re.sub("^ {12}", "", code, flags=re.M)
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                                env={**os.environ, "PYTHONPATH": PACKAGE})  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)

    @unittest.skipUnless(examples.has("sklearn") and examples.has("h5py"), "scikit-learn or h5py is not installed")
    def test_examples_of_the_readme(self):
        with open(os.path.join(os.environ["KBCD_SOURCE"], "bindings/python/README.md")) as file:
            blocks = re.findall("^```python\n(.*?)^```", file.read(), flags=re.M | re.S)
        self.assertGreater(len(blocks), 1)
        self.addCleanup(os.chdir, os.getcwd())
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            names = {}
            for block in blocks:
                exec(block, names)


if __name__ == "__main__":
    unittest.main()
