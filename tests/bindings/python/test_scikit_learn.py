"""The estimators as scikit-learn sees them: its own checks, and searches and pipelines over them."""

import unittest
import warnings

import examples
import numpy as np
from examples import PLAIN

from kbcd import KernelClassifier, KernelRegressor

if examples.has("sklearn"):
    from sklearn.base import clone, is_classifier, is_regressor
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.utils.estimator_checks import check_classifiers_train, check_estimator

SETTLED = {"sigma": 2.0, "lambda_": 1e-3, "threads": 1}  # the checks make hundreds of fits: none searches

# What fails, and why, where kbcd has no --weights.
WITHOUT_WEIGHTS = ("check_sample_weights_not_overwritten",)


@unittest.skipUnless(examples.has("sklearn"), "scikit-learn is not installed (package python3-sklearn)")
class ScikitLearn(unittest.TestCase):
    def check(self, estimator):
        passed = 0
        for fresh, check in check_estimator(estimator, generate_only=True):
            name = getattr(getattr(check, "func", check), "__name__", "check")
            with self.subTest(check=name), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if name in WITHOUT_WEIGHTS and not examples.has_flag("--weights"):
                    self.skipTest("this kbcd train has no --weights")
                check(fresh)
                passed += 1
        self.assertGreater(passed, 35)

    def test_checks_of_the_regressor(self):
        self.check(KernelRegressor(**SETTLED))

    def test_checks_of_the_classifier(self):
        self.check(KernelClassifier(**SETTLED))

    def test_classifiers_train(self):
        """The check that calibrated probabilities need not pass: those of the logistic loss do."""
        check_classifiers_train("KernelClassifier", KernelClassifier(loss="logistic", **SETTLED))

    def test_kinds(self):
        self.assertTrue(is_classifier(KernelClassifier()) and is_regressor(KernelRegressor()))
        self.assertEqual(clone(KernelRegressor(sigma=[1, 2], options={"tol": 1})).options, {"tol": 1})
        self.assertEqual(str(KernelRegressor(sigma=2)), "KernelRegressor(sigma=2)")

    def test_grid_search(self):
        X = examples.rows(90)
        search = GridSearchCV(KernelRegressor(**PLAIN), {"sigma": [0.01, 1.0], "lambda_": [1e-3, 1e-4]}, cv=2)
        search.fit(X, examples.targets(X))
        self.assertEqual(search.best_params_["sigma"], 1.0)
        self.assertGreater(search.best_score_, 0.8)

    def test_pipeline(self):
        X, y = examples.rows(90), examples.labels(examples.rows(90))
        wide = X * [1, 1e3, 1]
        pipeline = make_pipeline(StandardScaler(), KernelClassifier(**PLAIN))
        plain = KernelClassifier(standardize=True, **PLAIN).fit(wide, y)
        np.testing.assert_array_equal(pipeline.fit(wide, y).predict(wide), plain.predict(wide))
        self.assertGreater(cross_val_score(pipeline, wide, y, cv=2).mean(), 0.6)


if __name__ == "__main__":
    unittest.main()
