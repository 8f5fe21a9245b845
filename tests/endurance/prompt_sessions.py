"""Sessions at the prompt through a pseudo-terminal, with random keys, pastes, resizes and signals.

prompt_sessions.py SESSIONS SEED [FIRST]: each session, on 1 and 2 ranks in turn, must answer a question in the end and exit
with status 0. KBCD is the program, KBCD_MPIRUN the launcher."""
import fcntl
import os
import pty
import random
import select
import signal
import struct
import sys
import tempfile
import termios
import time

HISTORY = tempfile.NamedTemporaryFile(prefix="kbcd_history_")
PATIENCE = 60 * float(os.environ.get("KBCD_SLOWER", "1"))
LINES = [
    "1 + 1", "x = Matrix.randn(5, 3)", "x", "x[2][1]", "while true do end", "for i = 1, 1e9 do end", "error({})", "error()",
    "setmetatable({}, {__tostring = function() error('y') end})", "error(setmetatable({}, {__tostring = error}))",
    "t = {} t.t = t", "t", "help 'Matrix:rows'", "who()", "plot{1, 4, 2}", "'\\27[2J'", "function f(", "local y = [[", "x = = 1",
    "pcall(function() while true do end end)", "while true do pcall(error) end", "coroutine.wrap(function() while true do end end)()",
    "s = {} while true do s[#s % 100 + 1] = {} end", "Matrix.randn(300, 300) * Matrix.randn(300, 300);", "-- ä € 𝄞",
]
COLLECTIVE = ["while true do allreduce(1) end", "allreduce(rank())", "if rank() == 1 then error('one') end",
              "if rank() == 0 then while true do end end", "if rank() == 1 then while true do end end"]
KEYS = ["\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1bf", "\x1bb", "\x1bd", "\x7f", "\t", "\t\t", "\r", "\r", "\n", "\x1b",
        "\x01", "\x05", "\x0b", "\x15", "\x17", "\x19", "\x12", "\x14", "\x16", "\x0c", "\x13", "\x11", "\x1a", "\x00", "ä", "€",
        "kbcd.", "Matrix:", "'/us", '"', "x"]


class Session:
    def __init__(self, ranks):
        self.ranks, self.output = ranks, b""
        launcher = [] if ranks == 1 else os.environ.get("KBCD_MPIRUN", "mpirun --oversubscribe").split() + ["-n", str(ranks)]
        command = launcher + [os.environ["KBCD"], "--threads", "1"]
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, {**os.environ, "TERM": "xterm", "KBCD_HISTORY": HISTORY.name})

    def read(self, seconds):
        end = time.time() + seconds
        while True:
            ready, _, _ = select.select([self.terminal], [], [], max(0, end - time.time()))
            if not ready:
                return
            try:
                data = os.read(self.terminal, 65536)
            except OSError:
                return
            self.output += data

    def write(self, text):
        data = text if isinstance(text, bytes) else text.encode()
        os.set_blocking(self.terminal, False)
        end = time.time() + PATIENCE
        while data and time.time() < end:  # the terminal takes a few kB at a time
            try:
                data = data[os.write(self.terminal, data[:512]):]
            except BlockingIOError:
                self.read(0.01)
            except OSError:
                return
            self.read(0)

    def wait_for(self, text, since, seconds):
        end = time.time() + seconds
        while text not in self.output[since:] and time.time() < end and self.is_alive():
            self.read(0.05)
        return text in self.output[since:]

    def is_alive(self):
        return os.path.exists(f"/proc/{self.pid}/stat") and not os.waitid(
            os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)

    def programs(self):
        if self.ranks == 1:
            return [self.pid]
        with open(f"/proc/{self.pid}/task/{self.pid}/children") as file:
            return [int(child) for child in file.read().split()]

    def send(self, number):
        try:
            if number == signal.SIGUSR1:
                return os.kill(self.pid, number) if self.ranks > 1 else None
            for program in self.programs():
                os.kill(program, number)
        except OSError:  # it has ended: the session is reported as lost
            pass

    def resize(self, rows, columns):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def ends_well(self, question):
        """Whether it answers, after Ctrl-C, and exits with status 0."""
        end, answer = time.time() + PATIENCE, f"={question * 7}=".encode()
        while time.time() < end and self.is_alive():
            since = len(self.output)
            self.write("\x11\x03\x03")
            self.read(0.3)
            self.write(f"print('=' .. {question} * 7 .. '=')\r")
            if self.wait_for(answer, since, 3):
                break
        else:
            return "does not answer" if self.is_alive() else f"ended early: {os.waitpid(self.pid, 0)[1]}"
        self.read(0.1)
        self.write("\x03\x04")
        end = time.time() + PATIENCE
        while self.is_alive() and time.time() < end:
            self.read(0.05)
        if self.is_alive():
            return "does not end"
        status = os.waitpid(self.pid, 0)[1]
        return None if status == 0 else f"status {status}"


def act(session, rng):
    kind = rng.randrange(10)
    if kind < 2:
        session.write(rng.choice(KEYS) * rng.choice([1, 1, 1, 5]))
    elif kind < 4:  # a paste of lines
        lines = LINES + (COLLECTIVE if session.ranks > 1 else [])
        session.write("".join(rng.choice(lines) + rng.choice(["", "\r", "\r", "\n"]) for _ in range(rng.choice([1, 1, 2, 5]))))
    elif kind == 4:  # noise, without the keys that end a session (Ctrl-D, Ctrl-\)
        noise = bytes(rng.randrange(256) for _ in range(rng.choice([5, 50, 500])))
        session.write(noise.replace(b"\x04", b"").replace(b"\x1c", b""))
    elif kind == 5:
        session.resize(rng.choice([0, 1, 2, 24, 200]), rng.choice([0, 1, 2, 3, 20, 80, 500]))
    elif kind == 6:
        session.send(rng.choice([signal.SIGWINCH, signal.SIGCONT, signal.SIGUSR1, signal.SIGINT]))
    elif kind == 7:
        session.write("\x03" * rng.choice([1, 2, 5, 100]))
    elif kind == 8:
        for _ in range(rng.choice([2, 10, 50])):
            session.send(signal.SIGINT)
    else:
        session.write("y" * rng.choice([10, 3000]))


def main():
    count, seed, first = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0
    failures = 0
    for number in range(first, first + count):
        rng = random.Random(f"{seed}/{number}")
        session = Session(1 + number % 2)
        if not session.wait_for(b"> ", 0, PATIENCE):
            fault = "no prompt"
        else:
            for _ in range(rng.choice([5, 10, 20])):
                if session.is_alive():
                    act(session, rng)
                    session.read(rng.choice([0, 0, 0.01, 0.1, 0.3]))
            fault = session.ends_well(1000 + number)
        if fault:
            failures += 1
            print(f"session {number} of seed {seed}, {session.ranks} ranks: {fault}; the last output:")
            print(session.output[-1500:].decode(errors="replace"))
            if session.is_alive():
                os.kill(session.pid, signal.SIGKILL)
                os.waitpid(session.pid, 0)
        os.close(session.terminal)
        if (number + 1 - first) % 20 == 0:
            print(f"{number + 1 - first} sessions, {failures} lost", flush=True)
    print(f"{count} sessions of seed {seed}: {failures} lost")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
