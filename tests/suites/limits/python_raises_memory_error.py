"""python3 raises MemoryError, which the program catches; what it then frees can be allocated again."""
import limited
from limited import expect

SCRIPT = """
blocks = []
try:
    while True:
        blocks.append(bytes(65536))
except MemoryError:
    held = len(blocks) * 65536
    blocks.clear()
print(held >> 20)
again = bytes(held * 3 // 4)
objects = [str(i) for i in range(100000)]
print(len(again) > 0, len(objects))
try:
    bytes(1 << 30)
except MemoryError:
    print("refused")
"""


def work(way):
    status, out, err = way.run("/usr/bin/python3", "-c", SCRIPT, max_mebibytes=64, control_mebibytes=76)
    lines = out.split()
    expect(status == 0 and err == "", f"nothing but MemoryError is met: {status} {err}")
    expect(30 <= int(lines[0]) <= 64, f"most of the limit could be used, and no more: {out}")
    expect(lines[1:] == ["True", "100000", "refused"], f"freed memory is usable again: {out}")


limited.check(work, needs=["python3"])
