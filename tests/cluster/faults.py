#!/usr/bin/env python3
"""Faults of a cluster: each must end the job in time, with a message that names host and rank, leave no process behind, and
the resumed run must give the bits of a run without a fault.

    faults.py PROGRAM                 a few faults, once each (make test)
    faults.py PROGRAM all 5           every fault, five times (make cluster)
    faults.py PROGRAM cut,link 1      these
"""

import os
import random
import signal
import sys
import time

import hosts

PATIENCE = 3  # seconds
# Within so many more the job must have ended; `make test`, on a machine that may be busy, looks for hangs alone.
GRACE = 5 if len(sys.argv) > 2 else 20
TRAIN = ["train", "--data", "/mnt/d.csv", "--label", "5", "--method", "full_kernel", "--sigma", "1.3", "--b", "20", "--lambda",
         "1e-3", "--epochs", "25", "--quiet", "--resume", "--checkpoint-blocks", "5"]
LAST_MESSAGES = ("the job has lost ranks", "no sign of life for", "interrupted by signal")


def write_data():
    rows = random.Random(1)
    with open(f"{hosts.LAB}/shared/d.csv", "w") as file:
        for _ in range(300):
            x = [rows.gauss(0, 1) for _ in range(4)]
            file.write(",".join(f"{v:.6f}" for v in x) + f",{int(x[0] * x[1] > 0)}\n")


class Job:
    """Training on three hosts, one rank each."""

    def __init__(self, cluster, program, slots=(1, 1, 1)):
        self.cluster, self.program, self.slots = cluster, program, slots

    def command(self, model):
        return ["mpirun", "--oversubscribe", "--hostfile", self.cluster.hostfile(*self.slots), "-n", sum(self.slots),
                self.program, "--patience", PATIENCE, *TRAIN, "--model", f"/mnt/{model}.h5"]

    def start(self, model):
        """Returns once there is a checkpoint."""
        run = self.cluster.start(0, *self.command(model))
        path, end = f"{hosts.LAB}/shared/{model}.h5.checkpoint", time.monotonic() + 60
        while not os.path.exists(path):
            if run.process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"no checkpoint came:\n{run.output()}")
            time.sleep(0.01)
        return run

    def finish(self, model):
        ended = self.cluster.on(0, "timeout", "120", *self.command(model), check=False)
        if ended.returncode != 0:
            raise AssertionError(f"{model}: the run does not end well:\n{ended.stdout}")

    def compare(self, model, other):
        code = f"""
local h5 = require "kbcd".h5
local function read(name)
  local file = h5.open("/mnt/" .. name .. ".h5")
  return file:read("/coefficients", 1, file:shape("/coefficients")[1])
end
assert((read("{model}") - read("{other}")):abs():max() == 0, "the resumed run has other bits")"""
        compared = self.cluster.on(0, self.program, "-e", code, check=False)
        if compared.returncode != 0:
            raise AssertionError(compared.stdout)


def stopped(cluster):
    """The only rank of a host is stopped."""
    os.kill(cluster.processes(1, "kbcd")[0], signal.SIGSTOP)
    return ["rank 1 on host h1", "it is stopped"]


def stopped_first(cluster):
    """The rank of mpirun's own host is stopped."""
    os.kill(cluster.processes(0, "kbcd")[0], signal.SIGSTOP)
    return ["rank 0 on host h0", "it is stopped"]


def cut(cluster):
    """The network of a host is cut."""
    cluster.cut(2)
    return ["host h2 (rank 2) does not answer host h0"]


def cut_first(cluster):
    """The network of mpirun's own host is cut."""
    cluster.cut(0)
    return ["host h1 (rank 1) does not answer host h0", "host h2 (rank 2) does not answer host h0"]


def link(cluster):
    """The link between two hosts is cut, both still reach the first."""
    cluster.cut_link(1, 2)
    return ["does not answer host h"]


def killed(cluster):
    """A rank is killed: mpirun itself reports it."""
    os.kill(cluster.processes(2, "kbcd")[0], signal.SIGKILL)
    return ["h2", "signal 9"]


FAULTS = {f.__name__: f for f in (stopped, stopped_first, cut, cut_first, link, killed)}
FEW = ("stopped", "cut", "link")


def mend(cluster):
    for host in range(cluster.size):
        cluster.mend(host)
    for host in (1, 2):
        cluster.on(host, "sh", "-c", "ip neigh flush nud permanent dev eth0")


def one_fault(job, name, number):
    cluster, model = job.cluster, f"{name}{number}"
    run = job.start(model)
    time.sleep(random.random() * 0.2)
    begin = time.monotonic()
    expected = FAULTS[name](cluster)
    status = run.wait(PATIENCE + GRACE)
    seconds = time.monotonic() - begin
    output = run.output()
    time.sleep(max(0.0, PATIENCE + GRACE - seconds if cluster.left() else 0))
    left = cluster.left()
    cluster.kill_left()
    mend(cluster)
    if status is None or left:
        raise AssertionError(f"{name}: status {status} after {seconds:.1f} s; left: {left}\n{output}")
    if status == 0:
        raise AssertionError(f"{name}: the run was over before its fault")
    for text in expected:
        if text not in output:
            raise AssertionError(f"{name}: '{text}' is not in the output:\n{output}")
    messages = sum(output.count(text) for text in LAST_MESSAGES)
    if messages > 1:
        raise AssertionError(f"{name}: {messages} messages of one failure:\n{output}")
    job.finish(model)
    job.compare(model, "whole")
    print(f"{name} {number}: ended after {seconds:.1f} s, resumed to the same bits", flush=True)
    return output


def main():
    program, names = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    times = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    hosts.within_namespaces()
    with hosts.Cluster(3) as cluster:
        write_data()
        job = Job(cluster, program)
        job.finish("whole")
        for name in list(FAULTS) if names == "all" else names.split(",") if names else FEW:
            for number in range(times):
                one_fault(job, name, number)


main()
