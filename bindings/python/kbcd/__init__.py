"""kbcd from Python: estimators with scikit-learn's conventions that run the program `kbcd`, and its model files in NumPy.

    from kbcd import KernelClassifier
    model = KernelClassifier(kernel="rbf").fit(X, y)
    model.predict(X_new)

Only NumPy is needed. With scikit-learn the estimators are its own kind, with SciPy they take sparse rows, and with h5py
small inputs are predicted without a start of the program.
"""

from .estimators import KernelClassifier, KernelRegressor
from .model import Model, UnsupportedModel, load_model
from .program import KbcdError, find_program

__all__ = ["KbcdError", "KernelClassifier", "KernelRegressor", "Model", "UnsupportedModel", "find_program", "load_model"]
__version__ = "0.1.0"
