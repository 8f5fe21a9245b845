"""A cluster in a box: hosts made of namespaces, for tests of several machines on one.

`within_namespaces()` starts this program again as the first process of namespaces of its own (PID, mounts, network). So
whatever way it ends, the kernel ends all that it started and removes every interface, file system and file of it; two runs
know nothing of each other, and no packet leaves the namespaces. A program makes one cluster. `Cluster(n)` makes the hosts h0 … in it: each with network,
host name, process numbers, shared memory, /tmp, /run and a disk (/srv) of its own, and an sshd; /mnt is shared by all.

    with Cluster(3) as cluster:
        run = cluster.start(0, "mpirun", "--hostfile", cluster.hostfile(1, 1, 1), "-n", "3", program, "x.lua")
        cluster.cut(2)
        run.wait(10)
"""

import os
import shutil
import signal
import subprocess
import sys
import time

SKIPPED = 77  # the status of a test that cannot run here (CTest's SKIP_RETURN_CODE)
SOURCE = os.path.dirname(os.path.abspath(__file__))
LAB = "/mnt/lab"  # on a tmpfs that is seen in these namespaces alone
CAP_SYS_ADMIN = 21
ENVIRONMENT = {"HOME": "/root", "USER": "root", "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1",
               "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
               "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_mpi_yield_when_idle": "1"}

# Runs as process 1 of a host.
BOOT = """
hostname h$1
ip link set lo up
mount --bind {lab}/home /root
mount --bind {lab}/hosts /etc/hosts
mount --bind {lab}/disk/h$1 /srv
mount --bind {lab}/shared /mnt
mount -t tmpfs none /dev/shm
mount -t tmpfs none /run
mount -t tmpfs none /tmp
chmod 1777 /tmp
mkdir /run/sshd
echo up > /srv/up
exec /usr/sbin/sshd -D -e -f /srv/sshd_config
""".format(lab=LAB)

SSHD = """Port 22
HostKey /srv/host_key
UsePAM no
PermitRootLogin yes
MaxStartups 100
PidFile none
StrictModes no
"""


def obstacle():
    """Why no cluster can be made here; None if one can."""
    for program in ("/usr/sbin/sshd", "ip", "unshare", "nsenter", "mpirun"):
        if not shutil.which(program, path=ENVIRONMENT["PATH"]):
            return f"{program} is not installed (see .ci/packages)"
    with open("/proc/self/status") as status:
        capabilities = int(next(line for line in status if line.startswith("CapEff")).split()[1], 16)
    if os.geteuid() != 0 or not capabilities >> CAP_SYS_ADMIN & 1:
        return "namespaces need root with CAP_SYS_ADMIN"
    trial = subprocess.run(["unshare", "--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "ip", "link", "add", "v0",
                            "type", "veth", "peer", "name", "v1"], capture_output=True, text=True)
    return None if trial.returncode == 0 else f"namespaces or veth are refused: {trial.stderr.strip()}"


def within_namespaces():
    """Returns in a copy of this program that has its own namespaces; ends with SKIPPED where there are none."""
    if os.getpid() == 1:
        subprocess.run(["mount", "-t", "tmpfs", "none", "/mnt"], check=True)
        return
    why = obstacle()
    if why:
        print(f"skipped: no cluster of namespaces can be made here: {why}")
        sys.exit(SKIPPED)
    os.execvp("unshare", ["unshare", "--pid", "--fork", "--kill-child=SIGKILL", "--mount", "--mount-proc", "--net",
                          sys.executable, *sys.argv])


class Run:
    """A command on a host; its output goes to a file."""

    def __init__(self, process, log):
        self.process, self.log, self.begin = process, log, time.monotonic()

    def output(self):
        with open(self.log, errors="replace") as file:
            return file.read()

    def wait(self, seconds):
        """Its status, or None if it still runs after so many seconds."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def wait_for(self, text, seconds):
        end = time.monotonic() + seconds
        while text not in self.output():
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"'{text}' did not come:\n{self.output()}")
            time.sleep(0.02)


class Cluster:
    def __init__(self, hosts):
        self.size, self.inits, self.runs, self.switch = hosts, [], 0, None

    def __enter__(self):
        for folder in ("home/.ssh", "shared", "logs"):
            os.makedirs(f"{LAB}/{folder}", exist_ok=True)
        self._write_keys()
        self._ip("link", "add", "bridge", "type", "bridge")
        self._ip("link", "set", "bridge", "up")
        for host in range(self.size):
            self._boot(host)
        for host in range(self.size):
            self._connect(host)
        return self

    def __exit__(self, *_):
        """The hosts end; what they had goes when this program, the first process of its namespaces, ends."""
        if self.switch:
            self.switch.kill()
        for _, init in self.inits:
            if init:
                os.kill(init, signal.SIGKILL)  # and with it, every process of the host

    @staticmethod
    def _ip(*words):
        subprocess.run(["ip", *words], check=True)

    def _write_keys(self):
        ssh = f"{LAB}/home/.ssh"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{ssh}/id_ed25519"], check=True)
        shutil.copy(f"{ssh}/id_ed25519.pub", f"{ssh}/authorized_keys")
        with open(f"{ssh}/config", "w") as file:
            file.write("StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n")
        with open(f"{LAB}/hosts", "w") as file:
            file.write("127.0.0.1 localhost\n")
            file.writelines(f"10.77.0.{host + 1} h{host}\n" for host in range(self.size))

    def _boot(self, host):
        disk = f"{LAB}/disk/h{host}"
        os.makedirs(disk)
        shutil.copy(f"{LAB}/home/.ssh/id_ed25519", f"{disk}/host_key")
        with open(f"{disk}/sshd_config", "w") as file:
            file.write(SSHD)
        with open(f"{LAB}/logs/h{host}", "w") as log:
            process = subprocess.Popen(["unshare", "--net", "--uts", "--mount", "--ipc", "--pid", "--fork", "--mount-proc",
                                        "bash", "-e", "-c", BOOT, "boot", str(host)], env=ENVIRONMENT,
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.inits.append((process, None))

    def _connect(self, host):
        process = self.inits[host][0]
        self._wait_until(lambda: os.path.exists(f"{LAB}/disk/h{host}/up"), f"host h{host} did not start")
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as children:
            init = int(children.read().split()[0])
        self.inits[host] = (process, init)
        self._ip("link", "add", f"port{host}", "type", "veth", "peer", "name", "eth0", "netns", str(init))
        self._ip("link", "set", f"port{host}", "master", "bridge", "up")
        self.on(host, "sh", "-c", f"ip addr add 10.77.0.{host + 1}/24 dev eth0; ip link set eth0 up")

    @staticmethod
    def _wait_until(condition, otherwise, seconds=10):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(otherwise)
            time.sleep(0.01)

    def _command(self, host, words):
        return ["nsenter", "-t", str(self.inits[host][1]), "-n", "-u", "-m", "-p", "-i", "--wd=/srv", *map(str, words)]

    def on(self, host, *words, check=True, environment=None):
        """Runs a command on a host to its end."""
        return subprocess.run(self._command(host, words), env={**ENVIRONMENT, **(environment or {})}, check=check,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def start(self, host, *words, environment=None):
        self.runs += 1
        log = f"{LAB}/logs/run{self.runs}"
        with open(log, "w") as file:
            process = subprocess.Popen(self._command(host, words), env={**ENVIRONMENT, **(environment or {})},
                                       stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
        return Run(process, log)

    def hostfile(self, *slots, names="h{}"):
        """On every host, /mnt/hosts: so many slots on h0, h1 …"""
        with open(f"{LAB}/shared/hosts", "w") as file:
            file.writelines(f"{names.format(host)} slots={count}\n" for host, count in enumerate(slots) if count)
        return "/mnt/hosts"

    def processes(self, host, name):
        """Their numbers as seen from outside the hosts: for kill."""
        namespace, found = os.readlink(f"/proc/{self.inits[host][1]}/ns/pid"), []
        for entry in os.listdir("/proc"):
            try:
                if entry.isdigit() and os.readlink(f"/proc/{entry}/ns/pid") == namespace:
                    with open(f"/proc/{entry}/stat") as file:
                        stat = file.read()
                    if stat[stat.index("(") + 1:stat.rindex(")")] == name and stat[stat.rindex(")") + 2] not in "ZX":
                        found.append(int(entry))
            except OSError:
                pass  # it has ended
        return sorted(found)

    def left(self):
        """Processes of a job that should be gone: (host, name, number)."""
        return [(host, name, number) for host in range(self.size) for name in ("kbcd", "orted", "mpirun", "srun")
                for number in self.processes(host, name)]

    def kill_left(self):
        for _, _, number in self.left():
            os.kill(number, signal.SIGKILL)

    def cut(self, host):
        """No traffic to and from a host."""
        self._ip("link", "set", f"port{host}", "down")

    def mend(self, host):
        self._ip("link", "set", f"port{host}", "up")

    def cut_link(self, one, other):
        """No traffic between two hosts, which both still reach the others: what they send goes to no one's address."""
        for here, there in ((one, other), (other, one)):
            self.on(here, "ip", "neigh", "replace", f"10.77.0.{there + 1}", "lladdr", "02:00:00:00:00:99", "dev", "eth0",
                    "nud", "permanent")

    def mend_link(self, one, other):
        for here, there in ((one, other), (other, one)):
            self.on(here, "ip", "neigh", "del", f"10.77.0.{there + 1}", "dev", "eth0")

    def lag(self, milliseconds, loss=0.0, megabits=0):
        """A second network, 10.78.0.0/24 on lag0 of each host (names: l0 …), whose frames take so long one way; `loss` is
        the share of frames that are lost."""
        program = f"{LAB}/switch"
        if not os.path.exists(program):
            subprocess.run(["cc", "-O2", "-Wall", "-o", program, f"{SOURCE}/switch.c"], check=True)
        if self.switch:
            self.switch.kill()
            self.switch.wait()
        self.switch = subprocess.Popen([program, str(self.size), str(int(1000 * milliseconds)), str(int(1e6 * loss)),
                                        str(megabits)], stdout=subprocess.PIPE, text=True)
        assert self.switch.stdout.readline() == "up\n"
        for host in range(self.size):
            self._ip("link", "set", f"lag{host}", "netns", str(self.inits[host][1]), "name", "lag0")
            self.on(host, "sh", "-c", f"ip addr add 10.78.0.{host + 1}/24 dev lag0; ip link set lag0 up")

