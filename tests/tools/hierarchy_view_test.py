"""Files of hierarchies that are cut, foreign, of another version, or full of random bytes: commands that look at them say so, or
show what they find, and never crash.

    hierarchy_view_test.py ALLOT MEMBER
"""
import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cases  # noqa: E402
from hierarchies import Hierarchies  # noqa: E402

LOOKING = (["tree"], ["tree", "--json"], ["top", "-b", "-n", "1"], ["ls"], ["get", "/", "memory.stat"], ["get", "/", "cgroup.procs"], ["export"],
           ["export", "--openmetrics"], ["verify", "--outside"])


def populated(h):
    for tenant in ("/a/b", "/c"):
        member = h.member(tenant)
        member.do("charge", 1 << 20)
        member.do("stock", 4096)
    for member in h.members:
        member.end()


def look(h, statuses=(0, 1)):
    for command in LOOKING:
        result = h.allot(*command, timeout=30)
        assert result.returncode in statuses, (command, result.returncode, result.stdout[:500], result.stderr[:500])
        assert result.stderr == "" or result.stderr.startswith("allot: "), result


def test_files_that_are_none_are_told_by_name():
    with Hierarchies() as h:
        populated(h)
        whole = h.file().read_bytes()
        for content, text in ((b"", "is no hierarchy's file"), (b"hello\n" * 1000, "is no hierarchy's file"), (whole[:100], "is no hierarchy's file"),
                              (whole[: 1 << 20], "is no hierarchy's file"), (whole[:8] + struct.pack("<I", 99) + whole[12:], "another version: 99.0, and this"),
                              (whole[:16] + b"\1\2\3\4" + whole[20:], "another layout")):
            h.file().unlink()
            h.file().write_bytes(content)
            look(h, statuses=(1,))
            result = h.allot("tree")
            assert f"hierarchy h in {h.dir} " in result.stderr and text in result.stderr and result.stderr.count("\n") == 1, result
        h.file().unlink()
        h.file().symlink_to("/etc/passwd")
        look(h, statuses=(1,))
        h.file().unlink()
        h.file().mkdir()
        look(h, statuses=(1,))


def test_random_words_in_the_header_and_the_records_mislead_at_most():
    with Hierarchies() as h:
        populated(h)
        whole = h.file().read_bytes()
        pieces = [at for at in range(0, len(whole), 4096) if whole[at : at + 4096].strip(b"\0")]
        for seed in range(12):
            numbers = random.Random(seed)
            h.file().unlink()
            h.file().write_bytes(whole)
            with open(h.file(), "r+b") as file:
                for piece in pieces if seed % 2 == 0 else numbers.sample(pieces, 3):
                    for _ in range(numbers.choice([1, 20, 500])):
                        # The first page, with magic and layout, stays in half of the cases, so that what lies behind is met.
                        if piece == 0 and seed % 4 < 3:
                            continue
                        file.seek(piece + numbers.randrange(0, 4096, 8))
                        file.write(struct.pack("<Q", numbers.choice([0, 1, 0xFF, 1 << 31, (1 << 32) - 1, 1 << 62, (1 << 64) - 1, numbers.getrandbits(64), numbers.getrandbits(16)])))
            look(h)


def test_a_file_full_of_random_bytes_behind_a_good_beginning():
    with Hierarchies() as h:
        populated(h)
        whole = bytearray(h.file().read_bytes())
        for seed in (1, 2):
            numbers = random.Random(seed)
            damaged = bytearray(whole)
            damaged[4096 : 4 << 20] = numbers.randbytes((4 << 20) - 4096)
            h.file().unlink()
            h.file().write_bytes(damaged)
            look(h)


cases.run_all(globals())
