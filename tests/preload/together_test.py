"""Unmodified processes that share a hierarchy: one limit for all, however they begin, go on and end.

Usage: together_test.py ALLOT LIBRARY PROGRAM   (PROGRAM: commanded.c)
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from cases import run_all  # noqa: E402

ALLOT, LIBRARY, PROGRAM = sys.argv[1:4]
MAX = 32 << 20
BLOCK = 1000
SLOT = 1024  # of such a block


class Hierarchy:
    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="allot-test-", dir="/dev/shm")
        self.processes = []
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.end()
        shutil.rmtree(self.dir, ignore_errors=True)

    def start(self, tenant="/t", **more):
        process = Process(self, tenant, more)
        self.processes.append(process)
        return process

    def allot(self, *words):
        command = [ALLOT, words[0], "--dir", self.dir, "--hierarchy", "h", *words[1:]]
        return subprocess.run(command, capture_output=True, text=True, timeout=30)

    def current(self, tenant="/t"):
        return int(self.allot("get", tenant, "memory.current").stdout)

    def keyed(self, tenant, file, key):
        lines = self.allot("get", tenant, file).stdout.splitlines()
        return int(dict(line.split() for line in lines)[key])

    def expect_full(self, tenant="/t"):
        """What nobody can use any more is less than one block."""
        time.sleep(0.002)
        assert MAX - SLOT < self.current(tenant) <= MAX, self.current(tenant)
        assert self.keyed(tenant, "memory.stat", "stock") == 0

    def expect_sound(self):
        verdict = self.allot("verify")
        assert verdict.returncode == 0, verdict.stdout + verdict.stderr

    def expect_empty(self):
        time.sleep(0.01)
        assert self.current("/") == 0, self.allot("tree").stdout
        self.expect_sound()


class Process:
    def __init__(self, hierarchy, tenant, more):
        environment = dict(os.environ, LD_PRELOAD=LIBRARY, ALLOT_DIR=hierarchy.dir, ALLOT_HIERARCHY="h",
                           ALLOT_TENANT=tenant, ALLOT_MEMORY_MAX=str(MAX), **more)
        self.process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
                                        text=True, bufsize=1)
        self.pid = self.process.pid
        assert self.ask("drop 0") == 0  # it is there

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self):
        return int(self.process.stdout.readline())

    def ask(self, line):
        self.tell(line)
        return self.answer()

    def take(self, count=0):
        return self.ask(f"take {BLOCK} {count}")

    def drop(self, count=0):
        return self.ask(f"drop {count}")

    def signal(self, number):
        os.kill(self.pid, number)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def test_one_limit_holds_for_all_and_what_is_unused_anywhere_can_be_had():
    with Hierarchy() as h:
        first, second, third = (h.start() for _ in range(3))
        assert first.take(10000) == 10000 and first.drop(9000) == 9000
        assert second.take(5000) == 5000 and second.drop(5000) == 5000
        third.take()
        h.expect_full()
        assert first.take(1) == 0 and second.take(1) == 0
        assert third.drop(100) == 100
        assert first.take() + second.take() == 100
        h.expect_full()
        h.expect_sound()


def test_sleeping_threads_hold_nothing_back():
    with Hierarchy() as h:
        sleeper, taker = h.start(), h.start()
        assert sleeper.ask("threads 20") == 20
        taker.take()
        h.expect_full()


def test_a_stopped_process_holds_nothing_back_and_holds_up_nobody():
    with Hierarchy() as h:
        stopped, taker = h.start(), h.start()
        assert stopped.take(10000) == 10000 and stopped.drop(9999) == 9999
        stopped.signal(signal.SIGSTOP)
        taker.take()
        h.expect_full()
        assert h.allot("set", "/t", "memory.max=40M").returncode == 0
        assert taker.take(1000) == 1000
        stopped.signal(signal.SIGCONT)
        assert stopped.take(1000) == 1000
        h.expect_sound()


def test_what_a_killed_process_had_is_there_for_others():
    with Hierarchy() as h:
        for _ in range(5):
            killed = h.start()
            killed.take()
            h.expect_full()
            killed.end()
        survivor = h.start()
        survivor.take()
        h.expect_full()
        survivor.end()
        h.expect_empty()


def test_mappings_count_in_the_same_limit():
    with Hierarchy() as h:
        mapper, taker = h.start(), h.start()
        assert mapper.ask(f"map {20 << 20}") == 1
        assert mapper.ask(f"map {20 << 20}") == 0
        taker.take()
        h.expect_full()
        mapper.end()
        assert taker.take() * SLOT >= 19 << 20


def test_a_forked_child_pays_for_what_it_takes_alone():
    with Hierarchy() as h:
        parent = h.start()
        assert parent.take(10000) == 10000
        before = h.current()
        parent.ask("fork")  # from now on the child answers
        assert h.current() - before < 64 * SLOT
        assert parent.take(10000) == 10000
        assert 9990 * SLOT < h.current() - before < 10064 * SLOT
        assert parent.drop() == 20000  # its own, and what it had inherited, which the parent has still
        assert h.current() - before < 64 * SLOT
        parent.tell("quit")
        parent.answer()  # the parent's
        assert parent.drop() == 10000
        assert h.current() < before - 9990 * SLOT
        h.expect_sound()


def test_a_daemon_goes_on_paying_for_what_it_has_from_its_parent():
    with Hierarchy() as h:
        daemon = h.start()
        assert daemon.take(10000) == 10000
        before = h.current()
        child = daemon.ask("orphan")
        daemon.process.wait()
        time.sleep(0.01)
        assert abs(h.current() - before) < 64 * SLOT, (h.current(), before)
        daemon.take()
        h.expect_full()
        assert daemon.drop(0) * SLOT > 30 << 20
        assert h.current() < 64 * SLOT
        daemon.tell("quit")
        while os.path.exists(f"/proc/{child}"):
            time.sleep(0.01)
        h.expect_empty()


MIB = 1 << 20


def about(h, mebibytes):
    """So much is charged: the rest is what the programs themselves and their stocks hold."""
    time.sleep(0.002)
    current = h.current()
    assert mebibytes * MIB <= current < mebibytes * MIB + 96 * SLOT, (current, mebibytes, h.allot("tree").stdout)


def end_child(h, process, child):
    process.tell("quit")
    while os.path.exists(f"/proc/{child}"):
        time.sleep(0.01)
    h.expect_empty()


def test_a_child_neither_is_paid_nor_pays_for_mappings_of_its_living_parent():
    with Hierarchy() as h:
        process = h.start()
        assert process.ask(f"map {8 * MIB}") == 1
        about(h, 8)
        process.ask("fork")
        for line in (f"unmap {2 * MIB}", "hide", f"resize {4 * MIB}"):
            assert process.ask(line) == 1
            about(h, 8)
        assert process.ask(f"resize {7 * MIB}") == 1  # three that are its own
        about(h, 11)
        assert process.ask(f"cover {2 * MIB}") == 1  # and two in the place of what it had inherited
        about(h, 13)
        h.expect_sound()
        process.tell("quit")
        process.answer()
        about(h, 8)
        assert process.ask(f"unmap {8 * MIB}") == 1
        about(h, 0)
        h.expect_sound()


def test_mappings_that_a_living_copy_has_left_are_its_own_when_their_payer_is_gone():
    with Hierarchy() as h:
        process = h.start()
        assert process.ask(f"map {8 * MIB}") == 1
        child = process.ask("fork")
        assert process.ask(f"unmap {3 * MIB}") == 1
        about(h, 8)
        process.end()
        about(h, 5)
        assert process.ask(f"resize {6 * MIB}") == 1
        about(h, 6)
        assert process.ask(f"map {27 * MIB}") == 0
        assert process.ask(f"resize {2 * MIB}") == 1
        about(h, 2)
        assert process.ask(f"cover {MIB}") == 1  # for one that it pays for, another one
        about(h, 2)
        h.expect_sound()
        assert process.ask(f"unmap {2 * MIB}") == 1
        about(h, 0)
        end_child(h, process, child)


def test_mappings_pass_from_hand_to_hand():
    with Hierarchy() as h:
        process = h.start()
        assert process.ask(f"map {8 * MIB}") == 1
        first = process.ask("fork")
        assert process.ask(f"unmap {MIB}") == 1
        second = process.ask("fork")
        assert process.ask(f"unmap {MIB}") == 1
        process.signal(signal.SIGSTOP)  # it would go on where its child ends
        os.kill(first, signal.SIGKILL)
        time.sleep(0.01)
        about(h, 8)
        process.end()
        about(h, 6)
        h.expect_sound()
        assert process.ask(f"unmap {4 * MIB}") == 1
        about(h, 2)
        end_child(h, process, second)


def test_a_child_that_execs_leaves_its_parents_mappings_to_nobody():
    with Hierarchy() as h:
        process = h.start()
        assert process.ask(f"map {8 * MIB}") == 1
        child = process.ask("fork")
        process.tell("exec")
        assert process.ask("drop 0") == 0
        about(h, 8)
        process.end()
        about(h, 0)
        assert process.ask(f"map {30 * MIB}") == 1
        end_child(h, process, child)


def test_exec_drops_what_the_image_had():
    with Hierarchy() as h:
        process = h.start()
        process.take()
        environment = dict(os.environ, LD_PRELOAD=LIBRARY, ALLOT_DIR=h.dir, ALLOT_HIERARCHY="h", ALLOT_TENANT="/t")
        script = f"import os; b = bytearray(20 << 20); os.execv('{PROGRAM}', ['{PROGRAM}'])"
        process.end()
        replaced = subprocess.Popen(["/usr/bin/python3", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    env=environment, text=True, bufsize=1)
        try:
            replaced.stdin.write("say 7\n")
            assert replaced.stdout.readline() == "7\n"
            assert h.current() < 64 * SLOT
        finally:
            replaced.kill()
            replaced.wait()


def test_the_largest_is_killed_where_the_policy_says_so():
    with Hierarchy() as h:
        large, small = h.start(ALLOT_OOM="kill"), h.start()
        assert large.take(25000) == 25000
        assert small.take(15000) == 15000
        assert large.process.wait() == -signal.SIGKILL
        assert h.keyed("/t", "memory.events", "oom_kill") == 1
        h.expect_sound()


def test_two_hundred_kills_under_load_leave_nothing():
    with Hierarchy() as h:
        workers = [h.start() for _ in range(4)]
        for kill in range(200):
            victim = workers[kill % 4]
            victim.tell("take 3000 20")
            victim.tell("drop 10")
            victim.tell("take 64 5000")
            time.sleep(0.0001 * (kill % 13))
            victim.end()
            workers[kill % 4] = h.start()
        survivor = h.start()
        for worker in workers:
            worker.end()
        survivor.take()
        h.expect_full()
        survivor.end()
        h.expect_empty()


run_all(globals())
