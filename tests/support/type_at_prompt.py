"""type_at_prompt.py RANKS: types at the prompt through a pseudo-terminal and checks what appears.

Standard input has a line for each step: what is typed, a tab, what must appear then; both with Python's escapes. `INT` and
the other names of signals as what is typed send the signal to the programs. In the end the session must exit with status 0."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "endurance"))
from prompt_sessions import PATIENCE, Session  # noqa: E402


def plain(text):
    return text.encode("latin-1").decode("unicode_escape")


session = Session(int(sys.argv[1]))
if not session.wait_for(b"> ", 0, PATIENCE):
    sys.exit("no prompt: " + session.output.decode(errors="replace"))
for step in sys.stdin.read().splitlines():
    typed, expected = step.split("\t")
    since = len(session.output)
    if hasattr(signal, "SIG" + typed):
        session.send(getattr(signal, "SIG" + typed))
    else:
        session.write(plain(typed))
    if not session.wait_for(plain(expected).encode(), since, PATIENCE / 3):
        sys.exit(f"after {typed!r}: {expected!r} expected, got {session.output[since:].decode(errors='replace')!r}")
    session.read(0.1)
fault = session.ends_well(6)
sys.exit(fault)
