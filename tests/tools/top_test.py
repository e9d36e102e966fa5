"""top: in a terminal, with keys, another size and signals; and as plain text.

    top_test.py ALLOT MEMBER
"""
import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cases  # noqa: E402
from hierarchies import ALLOT, Hierarchies  # noqa: E402

MIB = 1 << 20
RESTORED = "\x1b[?1049l"  # from the alternate screen


class Terminal:
    """allot top in a pseudo-terminal."""

    def __init__(self, h, *arguments, lines=24, columns=100):
        self.fd, side = pty.openpty()
        self.size(lines, columns, side)
        self.before = termios.tcgetattr(side)
        self.side = side
        environment = {**h.environment, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
        for name in ("LINES", "COLUMNS"):
            environment.pop(name, None)
        self.process = subprocess.Popen([ALLOT, "top", "-d", "0.1", *arguments], stdin=side, stdout=side, stderr=subprocess.PIPE,
                                        env=environment, start_new_session=True)
        self.seen = ""

    def size(self, lines, columns, fd=None):
        fcntl.ioctl(self.fd if fd is None else fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read_until(self, pattern, seconds=10):
        """What has come since the last key, up to where the pattern is found in it."""
        end = time.monotonic() + seconds
        while not re.search(pattern, self.seen, re.DOTALL):
            assert time.monotonic() < end, (pattern, self.seen[-3000:])
            if select.select([self.fd], [], [], 0.05)[0]:
                self.seen += os.read(self.fd, 65536).decode(errors="replace")
        return self.seen

    def key(self, text):
        self.seen = ""
        os.write(self.fd, text.encode())

    def redraw(self):
        """The whole screen anew: curses sends only what differs."""
        self.seen = ""
        lines, columns = struct.unpack("HHHH", fcntl.ioctl(self.fd, termios.TIOCGWINSZ, b"\0" * 8))[:2]
        self.size(lines - 1, columns)
        self.process.send_signal(signal.SIGWINCH)
        time.sleep(0.3)
        self.seen = ""
        self.size(lines, columns)
        self.process.send_signal(signal.SIGWINCH)
        time.sleep(0.4)
        self.read_until("tenant")

    def ends(self, status):
        found = self.process.wait(timeout=10)
        self.read_until(re.escape(RESTORED))
        assert found == status, (found, self.process.stderr.read())
        assert termios.tcgetattr(self.side) == self.before, "the terminal is as it was"
        self.process.stderr.close()
        os.close(self.fd)
        os.close(self.side)


def order_of(text, *names):
    return sorted(names, key=lambda name: text.rindex(name))


def populated(h):
    h.ok("create", "--hierarchy", "h", "/aa", "memory.max=16M")
    a, b = h.member("/aa"), h.member("/bb/cc")
    a.do("charge", 4 * MIB)
    b.do("charge", 8 * MIB)
    return a, b


def test_it_draws_in_the_alternate_screen_and_q_restores_the_terminal():
    with Hierarchies() as h:
        populated(h)
        terminal = Terminal(h)
        text = terminal.read_until("8.0M.*4.0M")
        assert "\x1b[?1049h" in text and "2 processes, 4 tenants, 12.0M in use" in text, text
        terminal.key("q")
        terminal.ends(0)


def test_keys_sort_and_the_tree_is_shown():
    with Hierarchies() as h:
        populated(h)
        terminal = Terminal(h)
        terminal.read_until("/aa")
        for key, first in (("n", "/aa"), ("c", "/bb"), ("m", "/aa"), ("p", "/bb"), ("n", "/aa")):
            terminal.key(key)
            time.sleep(0.3)
            terminal.redraw()
            assert order_of(terminal.seen, "/aa", "/bb/cc")[0].startswith(first), (key, terminal.seen)
        terminal.key("n")  # again: the other way round
        time.sleep(0.3)
        terminal.redraw()
        assert order_of(terminal.seen, "/aa", "/bb/cc")[0] == "/bb/cc", terminal.seen
        terminal.key("t")
        time.sleep(0.3)
        terminal.redraw()
        assert re.search(r"(    |;5H)cc", terminal.seen) and "/bb/cc" not in terminal.seen, terminal.seen
        terminal.key("q")
        terminal.ends(0)


def test_it_is_live():
    with Hierarchies() as h:
        a, _ = populated(h)
        terminal = Terminal(h)
        terminal.read_until("12.0M in use")
        terminal.key("")
        a.do("charge", 1 * MIB)
        terminal.read_until("31.2")  # percent of its limit; of what else changed, only characters are sent
        terminal.redraw()
        assert "5.0M" in terminal.seen, terminal.seen
        terminal.key("q")
        terminal.ends(0)


def test_a_list_that_is_longer_than_the_screen_moves_and_follows_its_size():
    with Hierarchies() as h:
        maker = h.member("/t000")
        for i in range(1, 60):
            maker.do("tenant", f"/t{i:03}")
        terminal = Terminal(h, lines=12)
        terminal.read_until(r"\[1-9 of 61\]")
        terminal.key("n")
        terminal.key("\x1bOB")
        terminal.read_until(r"2-10")
        terminal.key("\x1b[6~")
        terminal.read_until(r"1?1-19|11")
        terminal.key("\x1bOF")
        terminal.read_until(r"59")
        terminal.redraw()
        assert re.search(r"\[53-6[01] of 61\]", terminal.seen), terminal.seen  # of the smaller screen, too
        terminal.key("\x1bOH")
        terminal.redraw()
        assert re.search(r"\[1-[89] of 61\]", terminal.seen), terminal.seen
        terminal.seen = ""
        terminal.size(30, 40)
        terminal.process.send_signal(signal.SIGWINCH)
        terminal.read_until(r"t02\d")
        terminal.key("q")
        terminal.ends(0)


def test_signals_restore_the_terminal_and_end_it():
    with Hierarchies() as h:
        populated(h)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            terminal = Terminal(h)
            terminal.read_until("/aa")
            terminal.process.send_signal(number)
            terminal.ends(-number)


def test_plain_text_comes_so_many_times():
    with Hierarchies() as h:
        populated(h)
        text = h.ok("top", "-b", "-n", "2", "-d", "0.05")
        assert text.count("tenant ") == 2 and "\x1b" not in text, text
        assert h.ok("top").count("tenant ") == 1  # no terminal
        rows = {line.split()[0]: line.split() for line in text.splitlines() if line.startswith("/")}
        assert rows["/aa"] == ["/aa", "4.0M", "4.0M", "16M", "25.0", "1", "0", "0"], rows
        result = h.allot("top", "-n", "0")
        assert result.returncode == 2 and result.stderr.startswith("allot: -n: '0': expected a number"), result


cases.run_all(globals())
