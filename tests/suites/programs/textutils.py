"""sort with threads, xz with threads, tar, awk, sed: large buffers, threads that only free."""
import preloaded

SCRIPT = r"""
set -e -o pipefail
seq 1 300000 | awk '{ print ($1 * 7919) % 300007, "field", $1 }' >numbers
sort --parallel=2 -S 4M -n numbers | cksum
sort -k3,3 -S 2M -T . numbers | cksum
xz -T2 --block-size=1MiB -3 -k numbers; xz -dc numbers.xz | cmp - numbers
tar -cf - numbers numbers.xz | tar -tf -
gzip -9c numbers | gzip -dc | cmp - numbers
awk '{ seen[$1 % 5003] = seen[$1 % 5003] $3 } END { for (k in seen) n += length(seen[k]); print n }' numbers
sed -n '1~1000s/field/FIELD/p' numbers | cksum
"""


def work(runner):
    return runner.run("bash", "-c", SCRIPT)


preloaded.compare(work, needs=["bash", "xz", "awk", "sort", "tar"])
