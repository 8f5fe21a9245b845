#!/usr/bin/env python3
"""Hosts that do not share what they work with: files on one host alone, other settings, other programs, two networks.

    separate.py PROGRAM [NAMES]       these cases, or all
"""

import os
import random
import sys
import time

import hosts

SCRIPT = """local kbcd = require "kbcd"
local A = kbcd.Matrix.ones(2, 2)
kbcd.allreduce(A)
kbcd.say("sum %g on %d ranks", A(1, 1), kbcd.size())
"""
PATIENCE = 10


def data(seed, rows=90):
    numbers, lines = random.Random(seed), []
    for _ in range(rows):
        x = [numbers.gauss(0, 1) for _ in range(4)]
        lines.append(",".join(f"{v:.6f}" for v in x) + f",{int(x[0] * x[1] > 0)}\n")
    return "".join(lines)


def without_labels(seed):
    return "".join(line.rsplit(",", 1)[0] + "\n" for line in data(seed).splitlines())


class Lab:
    def __init__(self, cluster, program):
        self.cluster, self.program = cluster, program

    def write(self, host, name, text):
        with open(f"{hosts.LAB}/disk/h{host}/{name}", "w") as file:
            file.write(text)

    def run(self, *words, launcher=(), seconds=60):
        command = ["timeout", seconds, "mpirun", *launcher, "--oversubscribe", "--hostfile", self.cluster.hostfile(1, 1, 1), "-n", 3,
                   self.program, *words]
        return self.cluster.on(0, *command, check=False)

    def works(self, *words, has=()):
        ended = self.run(*words)
        check(ended.returncode == 0, f"{words}: status {ended.returncode}", ended.stdout)
        for text in has:
            check(text in ended.stdout, f"{words}: no '{text}'", ended.stdout)
        return ended.stdout

    def refuses(self, *words, has=(), **more):
        ended = self.run(*words, **more)
        check(ended.returncode not in (0, 124), f"{words}: status {ended.returncode}", ended.stdout)
        for text in has:
            check(text in ended.stdout, f"{words}: no '{text}'", ended.stdout)
        return ended.stdout


def check(good, what, output):
    if not good:
        raise AssertionError(f"{what}\n{output}")


def script(lab):
    """A script on rank 0's host alone; another one elsewhere under the same name."""
    lab.write(0, "x.lua", SCRIPT)
    lab.write(1, "x.lua", "error 'the script of h1 ran'")
    lab.works("/srv/x.lua", has=["sum 3 on 3 ranks"])


TRAIN = ("--threads", 1, "train", "--label", 5, "--method", "full_kernel", "--sigma", 1.3, "--b", 20, "--epochs", 2, "--lambda",
         1e-3, "--quiet")


def files(lab):
    """Data, model and method on rank 0's host alone, or other data elsewhere."""
    lab.write(0, "d.csv", data(1))
    out = lab.refuses(*TRAIN, "--data", "/srv/d.csv", "--model", "/srv/m.h5", has=["/srv/d.csv", "h1"])
    check("host h0)" not in out, "the host that has the file is named", out)
    lab.works(*TRAIN, "--data", "/srv/d.csv", "--from-root", "--model", "/srv/m.h5")
    lab.write(0, "x.csv", without_labels(1))
    predict = ("--threads", 1, "predict", "--model", "/srv/m.h5", "--x", "/srv/x.csv", "--from-root", "--out")
    lab.works(*predict, "/srv/three.csv")
    lab.cluster.on(0, lab.program, *[word for word in predict if word != "--from-root"], "/srv/one.csv")
    three, one = (lab.cluster.on(0, "cat", f"/srv/{name}.csv").stdout for name in ("three", "one"))
    check(three == one and one.count("\n") >= 90, "predictions of three hosts and of one differ", three + one)
    lab.write(1, "x.csv", without_labels(2))
    lab.refuses(*[word for word in predict if word != "--from-root"], "/srv/no.csv", has=["/srv/x.csv", "h1"])
    lab.works(*predict, "/srv/other.csv")
    check(lab.cluster.on(0, "cat", "/srv/other.csv").stdout == one, "the data of h1 was read", "")
    for host in range(3):
        left = lab.cluster.on(host, "sh", "-c", "ls -d /tmp/kbcd* 2>/dev/null; true").stdout
        check(left == "", f"files left on h{host}", left)


def checkpoint(lab):
    """A checkpoint on rank 0's disk alone: the run resumes from it."""
    lab.cluster.on(0, "sh", "-c", "rm -f /srv/r.h5*")
    for host in range(3):
        lab.write(host, "d.csv", data(1))
    command = [*TRAIN, "--data", "/srv/d.csv", "--model", "/srv/r.h5", "--resume", "--checkpoint-blocks", 1, "--epochs", 3000]
    run = lab.cluster.start(0, "mpirun", "--hostfile", lab.cluster.hostfile(1, 1, 1), "-n", 3, lab.program, *command)
    end = time.monotonic() + 60
    while not os.path.exists(f"{hosts.LAB}/disk/h0/r.h5.checkpoint"):
        check(time.monotonic() < end and run.process.poll() is None, "no checkpoint", run.output())
        time.sleep(0.02)
    lab.cluster.kill_left()
    run.wait(10)
    command.remove("--quiet")
    again = lab.cluster.start(0, "mpirun", "--hostfile", lab.cluster.hostfile(1, 1, 1), "-n", 3, lab.program, *command)
    again.wait_for("resumes from /srv/r.h5.checkpoint", 60)
    lab.cluster.kill_left()
    again.wait(10)
    time.sleep(0.5)


def settings(lab):
    """Settings of one host alone."""
    lab.write(0, "x.lua", SCRIPT)
    words = [lab.program, "/srv/x.lua"]
    ended = lab.cluster.on(0, "timeout", 30, "mpirun", "--host", "h0", "-n", 1, *words, ":", "--host", "h1", "-n", 1, "env",
                           "KBCD_CHECK=0", *words, check=False)
    for text in ("different settings", "0 on rank 1 (h1)", "1 on rank 0 (h0)", "KBCD_CHECK"):
        check(text in ended.stdout and ended.returncode not in (0, 124), f"no '{text}'", ended.stdout)


def same_address(lab):
    """Two interfaces with the same address on every host, as docker0 has."""
    for host in range(3):
        lab.cluster.on(host, "sh", "-c", "ip link add docker0 type bridge; ip addr add 172.17.0.1/16 dev docker0; "
                                         "ip link set docker0 up")
    lab.write(0, "x.lua", SCRIPT)
    begin = time.monotonic()
    ended = lab.run("--patience", PATIENCE, "/srv/x.lua")
    seconds = time.monotonic() - begin
    if ended.returncode != 0:
        for text in ("docker0 172.17.0.1", "eth0 10.77.0.1", "btl_tcp_if_include eth0"):
            check(text in ended.stdout, f"no '{text}'", ended.stdout)
        check(seconds < PATIENCE + 5, f"it took {seconds:.1f} s", ended.stdout)
        check(ended.stdout.count("have not found each other") == 1, "not one message", ended.stdout)
    named = ("--mca", "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0")
    good = lab.run("/srv/x.lua", launcher=named)
    for host in range(3):
        lab.cluster.on(host, "ip", "link", "del", "docker0")
    check("sum 3 on 3 ranks" in good.stdout, "with the interface named it does not run", good.stdout)
    return f"status {ended.returncode} after {seconds:.1f} s"


CASES = {f.__name__: f for f in (script, files, checkpoint, settings, same_address)}


def main():
    program = os.path.abspath(sys.argv[1])
    names = sys.argv[2].split(",") if len(sys.argv) > 2 else CASES
    hosts.within_namespaces()
    with hosts.Cluster(3) as cluster:
        for name in names:
            begin = time.monotonic()
            told = CASES[name](Lab(cluster, program))
            print(f"{name}: good, {time.monotonic() - begin:.1f} s; {told or ''}", flush=True)


main()
