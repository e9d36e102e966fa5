"""A model of who owns a cache line: throughput of N CPUs from what one operation does to shared lines.

It exists because the experiments that it is about were run on 72 and 96 CPUs, and what an operation does to shared lines can
be counted on any machine. It is a model: its figures are estimates, never measurements, and say so wherever they are shown.

A CPU does `work_ns` of work of its own, then visits lines. A visit is a read-modify-write, and needs the line: if another CPU
has had it since, it is transferred, which takes `transfer_ns`, and one transfer of a line follows another. That is a closed
queueing network: CPUs are its customers, work is the time between requests, each line a server. Mean value analysis solves
it, one customer more at a time: who arrives finds the queue that one customer less would have had on average (Reiser and
Lavenberg, 1980).

Two things follow from how lines behave and have no parameter:
  * A line that nobody else has had is at home. Among n CPUs that visit it alike, that is so once in n times.
  * A second look at the same line, after the read-modify-write, costs a transfer if somebody waited for it. That is what the
    packed layout of page counters pays: limit, watermark and protection lie beside the usage.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Line:
    """How often an operation of one CPU takes a line: `visits` for a read-modify-write, `looks` soon after one."""
    name: str
    visits: float
    looks: float = 0.0


def throughput(cpus, work_ns, lines, transfer_ns):
    """Operations a second of all CPUs together."""
    return cpus / cycle(cpus, work_ns, lines, transfer_ns) * 1e9


def cycle(cpus, work_ns, lines, transfer_ns):
    """Nanoseconds from one operation of a CPU to its next."""
    elsewhere = (cpus - 1) / cpus  # the share of visits that find the line with another CPU
    queue = {line: 0.0 for line in lines}
    total = work_ns
    for n in range(1, cpus + 1):
        residence = {}
        for line in lines:
            waited_for = queue[line] / (1 + queue[line])
            transfers = elsewhere * line.visits + waited_for * line.looks
            residence[line] = transfers * transfer_ns * (1 + queue[line])
        total = work_ns + sum(residence.values())
        queue = {line: n * residence[line] / total for line in lines}
    return total


def fit_transfer(cpus, work_ns, lines, per_second, most_ns=10000.0):
    """The transfer_ns at which the model gives so many operations a second; by bisection, as more time never gives more."""
    low, high = 0.0, most_ns
    for _ in range(60):
        middle = (low + high) / 2
        if throughput(cpus, work_ns, lines, middle) > per_second:
            low = middle
        else:
            high = middle
    return (low + high) / 2
