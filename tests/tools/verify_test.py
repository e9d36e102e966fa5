"""verify: what holds, what differs, and what processes answer.

    verify_test.py ALLOT MEMBER
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cases  # noqa: E402
from hierarchies import Hierarchies  # noqa: E402


def test_what_holds_is_told_by_the_status():
    with Hierarchies() as h:
        member = h.member("/a")
        member.do("charge", 1 << 20)
        member.do("stock", 8192)
        assert h.ok("verify", "--outside") == "3 tenants compared, 0 processes recounted, 0 differences\n".replace("3", "2", 1)
        member.start("serve", 0)
        assert h.ok("verify", "/a") == "1 tenant compared, 1 process recounted, 0 differences\n"
        member.finish()


def test_a_process_that_says_more_than_it_is_charged_differs():
    with Hierarchies() as h:
        member = h.member("/a")
        member.do("charge", 4096)
        member.do("wrong", 16)
        result = h.allot("verify", "--outside")
        assert result.returncode == 1 and result.stdout.startswith("/a: what a process is charged for is 4096, and it says 4112\n"), result
        assert h.allot("verify", "--outside", "/").returncode == 1


def test_what_a_process_finds_is_told_and_who_does_not_answer_is_named():
    with Hierarchies() as h:
        member, silent = h.member("/a"), h.member("/b")
        member.do("charge", 4096)
        member.start("serve", 3)
        result = h.allot("verify")
        member.finish()
        assert result.returncode == 1 and f"hierarchy_member ({member.pid}): 3 differences\n" in result.stdout, result
        assert f"hierarchy_member ({silent.pid}): not recounted: it did not answer within a second\n" in result.stdout, result


cases.run_all(globals())
