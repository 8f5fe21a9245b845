"""The program `kbcd`: where it is, how it is started, and its errors as exceptions."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings

import numpy as np


class KbcdError(RuntimeError):
    """What the program kbcd reported, or that it could not be started."""


def find_program(program: str | None = None) -> str:
    """The path of kbcd: `program`, else $KBCD, else the one that this package was installed with, else that of $PATH."""
    for source, name in (("program", program), ("$KBCD", os.environ.get("KBCD"))):
        if name:
            found = shutil.which(os.path.expanduser(os.fspath(name)))
            if not found:
                raise KbcdError(f"{source}: a program expected, and '{name}' is none")
            return found
    found = shutil.which(_installed()) or shutil.which("kbcd")
    if not found:
        raise KbcdError("the program kbcd was not found: give its path as program=…, in $KBCD or in a folder of $PATH")
    return found


def _installed() -> str:
    """The program of the prefix that `make install` put this package in, which then has a file installed.py."""
    try:
        from .installed import PROGRAM
    except ImportError:
        return "kbcd"
    return PROGRAM


def _environment(ranks: int | None) -> dict[str, str]:
    """Ours, without an MPI job that this process itself belongs to: kbcd starts its own."""
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OMPI_", "PMIX_", "PMI_")) or name.startswith(("OMPI_ALLOW_", "OMPI_MCA_"))
    }
    if "OMPI_COMM_WORLD_SIZE" in os.environ:  # mpirun leaves settings of its own job among these
        own = {name: value for name, value in own.items() if not name.startswith("OMPI_MCA_")}
    if ranks is None:  # a process alone needs no network: it starts in half the time
        for name, value in (("pml", "ob1"), ("btl", "self"), ("ess_singleton_isolated", "1")):
            own.setdefault("OMPI_MCA_" + name, value)
    return own


def word(value) -> str:
    """A value on the command line; lists with commas between."""
    if isinstance(value, str):
        return value
    if np.ndim(value) > 0:
        return ",".join(word(one) for one in value)
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    return str(value)


def flags(options: dict) -> list[str]:
    """Flags of a command from names and values: None and False are left out, True is a flag without a value."""
    words = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        words.append("--" + name.strip("_").replace("_", "-"))
        if value is not True:
            words.append(word(value))
    return words


def _message(command: str, status: int, text: str, folder: str) -> str:
    """What kbcd reported, without the folder of our temporary files and what mpirun adds of its own."""
    text = text.replace(folder + os.sep, "").strip()
    if not text:
        return f"kbcd {command}: ended by signal {-status}" if status < 0 else f"kbcd {command}: ended with status {status}"
    own = re.search(r"^(\[rank \d+/\d+\] )?kbcd( \w+)?: .*?(?=^-{20}|^\[|\Z)", text, flags=re.M | re.S)
    return own.group().strip() if own else text


def _end(process: subprocess.Popen) -> None:
    """Asks a process to end, and makes it after five seconds."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def run(command: str, options: dict, folder: str, *, program=None, ranks=None, threads=None, memory=None, verbose=False):
    """Runs `kbcd command --flags`; an error of it is a KbcdError.

    folder: that of our temporary files, which also takes what kbcd writes to stderr. verbose: its progress goes to
    sys.stderr, line by line. An exception here, such as KeyboardInterrupt, ends the process.
    """
    words = [find_program(program), *flags({"threads": threads, "memory": memory}), command, *flags(options)]
    if ranks is not None:
        launcher = shlex.split(os.environ.get("KBCD_MPIRUN", "mpirun"))
        words = [*launcher, "-n", str(ranks), *words]
    errors = os.path.join(folder, "stderr")
    with open(errors, "wb") as stderr:
        try:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr,
                                       env=_environment(ranks), text=True, errors="replace")  # fmt: skip
        except OSError as error:
            raise KbcdError(f"{words[0]}: cannot be started ({error.strerror})") from error
        with process.stdout:
            try:
                for line in process.stdout:
                    if verbose:
                        print(line, end="", file=sys.stderr, flush=True)
                status = process.wait()
            except BaseException:
                _end(process)
                raise
    with open(errors, errors="replace") as file:
        text = file.read()
    if status != 0:
        raise KbcdError(_message(command, status, text, folder))
    if text.startswith("kbcd"):
        warnings.warn(text.strip(), RuntimeWarning, stacklevel=4)
