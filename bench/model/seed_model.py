"""What the model of cache_lines.py says of the experiments: on this machine, where it can be checked, and on theirs.

Four of the seeds' ten figures are put in, the others are predicted. The kernel's own work a pair: the figure after the
change, where nothing is shared. The time of a transfer on a machine of two sockets: the figure before it. The work of a
message: the figure without accounting. How much more often a socket charges for a message than the three pages a side that
are charged here: the figure of 6.0. Everything else follows from counts.
"""
import cache_lines
import seed_lines

LEVELS = 3
FITTED = {"pairs": ("linux_5_14_before", "linux_5_14"), "messages": ("linux_6_0",)}


def operation(counts, is_packed):
    return seed_lines.Operation(counts, LEVELS, is_packed)


def is_packed(variant):
    """Counters' fields lie together until (B)."""
    return not variant.startswith(("linux_6_0_b", "linux_6_1", "linux_2026", "allot"))  # 6_1: 6_16 as well


def predict(counts, times, transfer):
    """{"here": rows, "pairs": rows, "messages": rows, "curves": {variant: [(CPUs, thousand pairs a second)]}, …}"""
    return {"transfer": transfer, "here": here(counts, times, transfer), **elsewhere(counts)}


def here(counts, times, transfer):
    """Two threads on two CPUs, from what one thread takes: (variant, predicted, measured) operations a second."""
    rows = []
    for variant, measured in times["pairs"][2].items():
        if variant not in counts["pairs"] and variant not in ("null", "linux_none"):
            continue
        alone = 1e9 / times["pairs"][1][variant]
        lines = operation(counts["pairs"].get(variant, {}), is_packed(variant)).lines()
        rows.append((variant, cache_lines.throughput(2, alone, lines, transfer["moved"]), measured))
    return rows


def elsewhere(counts):
    pairs = counts["pairs"]
    cpus, known = seed_lines.PAIRS_CPUS, seed_lines.PAIRS
    work = 1e6 * cpus / known["linux_5_14"]  # ns a pair of one CPU
    before = operation(pairs["linux_5_14_before"], True).lines()
    transfer = cache_lines.fit_transfer(cpus, work, before, known["linux_5_14_before"] * 1000)

    def lines_of(variant):
        return operation(pairs[variant], is_packed(variant)).lines()

    pair_rows = [(variant, cache_lines.throughput(cpus, work, lines_of(variant), transfer) / 1000, known.get(variant))
                 for variant in pairs]
    counts_of_cpus = [1, 2, 4, 8, 16, 24, 32, 48, 64, 72, 96, 128]
    curves = {variant: [(n, cache_lines.throughput(n, work, lines_of(variant), transfer) / 1000) for n in counts_of_cpus]
              for variant in pairs}
    return {"work_ns": work, "transfer_ns": transfer, "pairs": pair_rows, "curves": curves, "messages": messages(counts, transfer)}


def messages(counts, transfer):
    """How many times what is counted here a message of theirs does, fitted to 6.0; and Mbit/s of one of 36 pairs on 72 CPUs,
    rows of (variant, predicted, in the seed)."""
    known = seed_lines.MESSAGES
    if "linux_6_0" not in counts["messages"]:
        return {"factor": None, "rows": []}
    work = seed_lines.message_ns(known["null"])

    def megabits(variant, factor):
        # Each of a pair's two CPUs works all the time that a message takes, and does half of what is shared.
        lines = operation(counts["messages"][variant], is_packed(variant)).share(factor / 2).lines()
        return seed_lines.MESSAGE_BITS / cache_lines.cycle(seed_lines.MESSAGE_CPUS, work, lines, transfer) * 1000

    low, high = 0.01, 100.0
    for _ in range(60):
        factor = (low + high) / 2
        low, high = (factor, high) if megabits("linux_6_0", factor) > known["linux_6_0"] else (low, factor)
    return {"factor": factor, "rows": [(variant, megabits(variant, factor), known.get(variant)) for variant in counts["messages"]]}
