"""numpy_files.py FOLDER: files as NumPy, SciPy and scikit-learn write them, for numpy_files_spec.lua.

FOLDER/list has one row a file: its name, the .npy with the numbers that kbcd must read, whether it is sparse, and "names" where
it holds texts.
"""
import os
import sys

import numpy as np

folder = sys.argv[1]
os.chdir(folder)
rng = np.random.default_rng(1)
cases = []


def case(name, expected, sparse=False, names=False):
    plain = f"expected_{len(cases)}.npy"
    np.save(plain, np.atleast_2d(np.asarray(expected, dtype="f8").T).T)
    cases.append(f"{name}\t{plain}\t{'sparse' if sparse else 'dense'}\t{'names' if names else '-'}")


def numpy_arrays():
    whole = rng.integers(0, 100, (11, 4))
    for code in "b1 f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8".split():
        for order in "<>":
            a = np.asfortranarray((whole > 50) if code == "b1" else whole).astype(np.dtype(order + code), order="K")
            for which, b in (("c", np.ascontiguousarray(a)), ("f", a), ("v", a[:, 0].copy())):
                np.save(f"{code}{'lb'[order == '>']}_{which}.npy", b)
                case(f"{code}{'lb'[order == '>']}_{which}.npy", b)
    for version in ((1, 0), (2, 0), (3, 0)):
        with open(f"version{version[0]}.npy", "wb") as out:
            np.lib.format.write_array(out, whole, version)
        case(f"version{version[0]}.npy", whole)
    labels = np.array(["rot", "grün", "blau", "日本", "rot", "a b", "blau", "x", "x", "rot", "y"])
    numbers = np.unique(labels, return_inverse=True)[1]
    np.save("texts.npy", labels)
    case("texts.npy", numbers, names=True)
    np.save("texts_big.npy", labels.astype(labels.dtype.newbyteorder(">")))
    case("texts_big.npy", numbers, names=True)
    np.save("bytes.npy", np.char.encode(labels, "utf-8"))
    case("bytes.npy", numbers, names=True)
    np.savez("two.npz", X=whole.astype("f4"), y=labels)
    case("two.npz:X", whole)
    case("two.npz:y", numbers, names=True)
    np.savez_compressed("packed.npz", X=whole.astype("f2"), y=labels)
    case("packed.npz:X", whole)
    case("packed.npz:y", numbers, names=True)
    np.save("objects.npy", np.array(["a", 1, None], dtype=object), allow_pickle=True)
    np.save("single.npy", np.float64(3))


def sparse_matrices():
    import scipy.sparse as sp
    for dtype in "f4 f8 i1 i4 i8 u2 b1".split():
        dense = (rng.integers(-5 if dtype[0] in "fi" else 0, 6, (13, 6)) * (rng.random((13, 6)) < 0.3)).astype(dtype)
        for form in "csr csc coo".split():
            for packed in (False, True):
                for wide in (False, True):
                    name = f"{form}_{dtype}_{packed:d}{wide:d}.npz"
                    a = getattr(sp.coo_matrix(dense), "to" + form)()
                    for part in ("indices", "indptr", "row", "col"):
                        if wide and hasattr(a, part):
                            setattr(a, part, getattr(a, part).astype("i8"))
                    sp.save_npz(name, a, compressed=packed)
                    case(name, dense, sparse=True)
    for form in "bsr dia".split():
        sp.save_npz(form + ".npz", getattr(sp.csr_matrix(np.eye(4)), "to" + form)())
    twice = sp.coo_matrix(([1.5, 2.0, 3.0], ([1, 1, 0], [2, 2, 0])), shape=(4, 3))
    sp.save_npz("twice.npz", twice)
    case("twice.npz", twice.toarray(), sparse=True)


def svmlight():
    from sklearn.datasets import dump_svmlight_file
    dense = rng.integers(0, 9, (12, 5)).astype("f8")
    dense[0, 0] = dense[0, 4] = 1
    y = rng.integers(0, 3, 12)
    dump_svmlight_file(dense, y, "zero.svm")
    case("zero.svm", dense)
    dump_svmlight_file(dense, y, "one.svm", zero_based=False)
    case("one.svm", dense)
    dense[:, 0] = 0
    dump_svmlight_file(dense, y, "said.svm", comment="a comment")
    case("said.svm", dense)
    dump_svmlight_file(dense, y, "said_one.svm", zero_based=False, comment="a comment")
    case("said_one.svm", dense)
    dump_svmlight_file(dense, y, "qid.svm", query_id=np.arange(12))
    dump_svmlight_file(dense, np.array([[1, 0, 1], [0, 1, 0]] * 6), "multilabel.svm", multilabel=True)


numpy_arrays()
for part in (sparse_matrices, svmlight):
    try:
        part()
    except ImportError as missing:
        print(f"skipped: {missing}", file=sys.stderr)
with open("list", "w") as out:
    out.write("\n".join(cases) + "\n")
