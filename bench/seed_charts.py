"""The charts of bench/seeds, by file name."""
import charts
import seed_experiments as experiments
import seed_lines
import seed_report


def all_charts(counts, times, statistics, model):
    return {"pairs.svg": pairs(times), "model.svg": modelled(model),
            "statistics.svg": flushed({"synthetic": counts["statistics"], **statistics}),
            "messages.svg": message_writes(counts), "throughput.svg": message_times(times), "leaves.svg": leaves(counts)}


def pairs(times):
    shown = ("linux_5_14_before", "linux_5_14", "linux_2026", "linux_5_14_before_v1", "linux_5_14_v1", "allot", "null")
    return charts.line_chart("kmalloc and kfree of 4 KiB, measured on this machine", "threads", "thousand pairs a second",
                             [(v, [(n, times["pairs"][n][v] / 1000) for n in experiments.PAIR_THREADS]) for v in shown])


def modelled(model):
    shown = ("linux_5_14_before", "linux_5_14", "linux_5_14_before_v1", "linux_5_14_v1")
    known = seed_lines.PAIRS
    return charts.line_chart("kmalloc and kfree of 4 KiB: a model; circles are the seed's measurements", "CPUs", "thousand pairs a second",
                             [(v, model["curves"][v]) for v in shown],
                             [(v, seed_lines.PAIRS_CPUS, known[v], f"{v}: {known[v]:,}") for v in shown])


def flushed(streams):
    rows = [(f"{name}, {v}", streams[name][v]) for name in streams for v in experiments.STATISTICS_VARIANTS[1:]]
    reasons = [*experiments.REASONS, "slow path"]
    reasons = [reason for reason in reasons if any(by.get(reason, 0) > 0 for _, by in rows)]
    return charts.stacked_bars("Updates of statistics that leave the stock (without one: 100 %)", "%", [label for label, _ in rows],
                               [(reason, [by.get(reason, 0) for _, by in rows]) for reason in reasons])


def message_writes(counts):
    names = list(counts["messages"])
    kinds = [kind for kind in ("usage", "protection", "peaks") if any(of.get(kind, 0) > 0 for of in counts["messages"].values())]
    return charts.stacked_bars("Shared read-modify-writes of a 10 KiB message, three levels, the top one protected", "", names,
                               [(kind, [counts["messages"][v].get(kind, 0) for v in names]) for kind in kinds])


def message_times(times):
    names = [v for v in experiments.MESSAGE_VARIANTS if v != "null"]

    def ratios(rounds):
        return [1 + experiments.against(rounds, v)[0] / 100 for v in names]
    seed = [1 + seed_report.in_seed(v) / 100 if v in seed_lines.MESSAGES else None for v in names]
    most = experiments.MESSAGE_PAIRS
    return charts.bar_chart("Messages a second, of what is done without accounting", "", names,
                            [(f"{most} pairs of threads, here", ratios(times["messages"][most])),
                             (f"{most} TCP connections, here", ratios(times["tcp"])),
                             ("seed: 36 TCP connections, 72 CPUs", seed)], 1.5)


def leaves(counts):
    variants = [v for v in experiments.LEAF_VARIANTS if v != "null"]
    rows = [(f"{k} groups, {v}", counts["leaves"][k][v]["walks"]) for k in experiments.LEAVES for v in variants]
    return charts.stacked_bars("Walks to the root of a message, where one CPU serves groups in turn", "", [label for label, _ in rows],
                               [("walks", [value for _, value in rows])])
