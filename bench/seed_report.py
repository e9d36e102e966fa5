"""What bench/seeds writes in Markdown: tables of what was counted, measured and estimated."""
import report
import seed_experiments as experiments
import seed_lines
import seed_model
from report import figure

COUNTING_RULE = ("A read-modify-write counts if its line is written by several CPUs: usage and protection of page counters, the bytes that "
                 "an obj_cgroup keeps for all CPUs, and a stock's taking and putting of its reference to an obj_cgroup. Statistics are "
                 "kept by CPU and are not in it: of these, the updates are counted that leave a CPU's stock.")


def amount(value):
    return f"{value:.3g}" if value >= 0.0005 else "0"


def shared(counts):
    return amount(counts["shared"])


def megabits(variant):
    return f"{seed_lines.MESSAGES[variant]:,.0f}"


def plural(number, word):
    return f"{number} {word}{'s' if number > 1 else ''}"


def in_seed(variant):
    """Messages against no accounting, in percent."""
    return 100 * (seed_lines.MESSAGES[variant] / seed_lines.MESSAGES["null"] - 1)


# --- counts --------------------------------------------------------------------------------------------------------------------

def counts_summary(counts):
    """What does not depend on the machine: seed figure, before, after, allot."""
    pairs, protected, messages = counts["pairs"], counts["protected"], counts["messages"]
    few = min(experiments.LEAVES)
    before, after = seed_lines.LEAVES[few]
    leaves = counts["leaves"][few]
    flushed = {variant: sum(by_reason.values()) for variant, by_reason in counts["statistics"].items()}
    rows = [
        ["shared writes of kmalloc and kfree, 4 KiB, v2", "8,478 → 418,142 thousand a second", shared(pairs["linux_5_14_before"]),
         shared(pairs["linux_5_14"]), shared(pairs["allot"])],
        ["the same, v1", "4,304 → 4,731 thousand a second", shared(pairs["linux_5_14_before_v1"]), shared(pairs["linux_5_14_v1"]), "–"],
        ["one of 512 pairs that come and go together, all levels protected", "–", shared(protected["linux_6_0"]),
         shared(protected["linux_6_1"]), shared(protected["allot"])],
        ["a message of 10 KiB, three levels, the top one protected",
         f"{megabits('linux_6_0')} → {megabits('linux_6_1')} Mbit/s; {megabits('null')} without",
         shared(messages["linux_6_0"]), shared(messages["linux_6_1"]), shared(messages["allot"])],
        [f"a message of {few} groups that a CPU serves in turn", f"{before:,.0f} → {after:,.0f} Mbit/s", shared(leaves["linux_6_1"]),
         shared(leaves["linux_6_16"]), shared(leaves["allot"])],
        ["updates of statistics that leave the CPU's stock", f"100 → {seed_lines.FLUSHED[0]:.0f} and {seed_lines.FLUSHED[1]:.0f} %",
         f"{flushed['linux_5_14_statistics_at_once']:.0f} %", f"{flushed['linux_5_14']:.1f} %", f"{flushed['allot']:.1f} %"],
    ]
    return report.markdown_table(["counted", "seed", "before", "after", "allot"], rows)


def pair_counts(counts):
    rows = [["shared read-modify-writes", *(shared(counts["pairs"][v]) for v in experiments.COUNTED_PAIR_VARIANTS)]]
    return "A pair of 4096 bytes:\n\n" + report.markdown_table(["", *experiments.COUNTED_PAIR_VARIANTS], rows)


def size_counts(sizes):
    """One table a count, by size and burst."""
    def table(title, cell):
        head = ["bytes", *(f"{burst} at a time" for burst in experiments.BURSTS)]
        rows = [[size, *(cell(sizes[size, burst]) for burst in experiments.BURSTS)] for size in experiments.SIZES]
        return f"{title}\n\n" + report.markdown_table(head, rows)

    def change(name, before, after, part=1.0):
        return lambda of: f"{amount(of[before][name] * part)} → {amount(of[after][name] * part)}"
    return "\n".join([
        "So many allocations and then their frees, last in first out; an allocation with its free, 5.13 → 5.14.\n",
        table("Read-modify-writes of the bytes that an obj_cgroup keeps for all CPUs:", change("spare_bytes", "linux_5_13", "linux_5_14")),
        table("Pages charged:", change("pages_charged", "linux_5_13", "linux_5_14")),
        table("Walks through v1's second counters (each three read-modify-writes):",
              change("kernel_usage", "linux_5_13_v1", "linux_5_14_v1", 1 / 3)),
        table("All shared read-modify-writes of allot:", lambda of: shared(of["allot"])),
    ])


def protected_counts(counts):
    rows = [["shared read-modify-writes", *(shared(counts["protected"][v]) for v in experiments.PROTECTED_BURST_VARIANTS)]]
    return ("An allocation of 512 of 4096 bytes that come and go together, min and low set at all levels:\n\n"
            + report.markdown_table(["", *experiments.PROTECTED_BURST_VARIANTS], rows))


def message_counts(counts):
    names = list(counts["messages"])
    rows = [["shared read-modify-writes", *(shared(counts["messages"][v]) for v in names)],
            ["walks to the root", *(amount(counts["messages"][v]["walks"]) for v in names)],
            ["stocks drained", *(amount(counts["messages"][v]["page_stock_drains"]) if v != "allot" else "–" for v in names)]]
    return "A message of 10 KiB, 36 pairs, min and low set at the top:\n\n" + report.markdown_table(["", *names], rows)


def leaf_counts(counts):
    names = list(next(iter(counts["leaves"].values())))
    rows = [[f"{k} leaves", *(amount(by_variant[v]["walks"]) for v in names)] for k, by_variant in counts["leaves"].items()]
    return "Walks to the root of a message, where a CPU serves groups in turn:\n\n" + report.markdown_table(["", *names], rows)


# --- times ---------------------------------------------------------------------------------------------------------------------

def pair_times(times, disturbed):
    columns = []
    for threads in experiments.PAIR_THREADS:
        columns.append([f"{'~' if run in disturbed else ''}{times['pairs'][threads][run.variant] / 1000:,.0f}"
                        for run in experiments.timed_pairs(threads)])
    seeds = [f"{seed_lines.PAIRS[variant]:,}" if variant in seed_lines.PAIRS else "–" for variant in experiments.PAIR_VARIANTS]
    lines = list(zip(experiments.PAIR_VARIANTS, *columns, seeds))
    head = ["thousand pairs a second", *(plural(n, "thread") for n in experiments.PAIR_THREADS), "seed: 96 on 96 CPUs"]
    return report.markdown_table(head, lines)


def pair_ratios(times):
    def over(threads, after, before):
        return report.ratio(times["pairs"][threads][after] / times["pairs"][threads][before])
    rows = [[f"{after} / {before}", *(over(threads, after, before) for threads in experiments.PAIR_THREADS), seed]
            for after, before, seed in (("linux_5_14", "linux_5_14_before", "49.3"), ("linux_5_14_v1", "linux_5_14_before_v1", "1.10"),
                                        ("allot", "linux_2026", "–"), ("allot", "null", "–"))]
    return report.markdown_table(["", *(plural(n, "thread") for n in experiments.PAIR_THREADS), "seed"], rows)


def size_times(times):
    rows = [[f"{size} bytes, {burst} at a time", *(f"{by_variant[v] / 1000:,.0f}" for v in experiments.TIMED_SIZE_VARIANTS)]
            for (size, burst), by_variant in times["sizes"].items()]
    head = ["thousand allocations and frees a second", *experiments.TIMED_SIZE_VARIANTS]
    return "With statistics, one thread:\n\n" + report.markdown_table(head, rows)


def with_noise(rounds, variant):
    middle, noise = experiments.against(rounds, variant)
    return f"{middle:+.1f} ± {noise:.1f}" if len(rounds[variant]) > 1 else f"{middle:+.1f}"


def message_times(times):
    rows = [[variant, *(with_noise(times["messages"][pairs], variant) for pairs in times["messages"]), with_noise(times["tcp"], variant),
             f"{in_seed(variant):+.1f}" if variant in seed_lines.MESSAGES else "–"]
            for variant in experiments.MESSAGE_VARIANTS if variant != "null"]
    head = ["messages a second against no accounting, %", *(plural(n, "pair") for n in times["messages"]),
            f"TCP, {experiments.MESSAGE_PAIRS} pairs",
            "seed: TCP, 36 pairs, 72 CPUs"]
    return ("Measured; the median of ratios to the run without accounting of the same round, ± half of their range:\n\n"
            + report.markdown_table(head, rows))


def leaf_times(times):
    def seed(leaves):
        before, after = seed_lines.LEAVES[leaves]
        return f"{after / before:.2f}"
    names = [v for v in experiments.LEAF_VARIANTS if v != "null"]
    rows = [[f"{k} leaves", *(f"{of[v] / of['null']:.2f}" for v in names), f"{of['linux_6_16'] / of['linux_6_1']:.2f}", seed(k)]
            for k, of in times["leaves"].items()]
    return ("Measured, one thread for all leaves, of what it does without accounting:\n\n"
            + report.markdown_table(["", *names, "linux_6_16 / linux_6_1", "seed: a client each, 72 CPUs"], rows))


# --- statistics ------------------------------------------------------------------------------------------------------------------

def statistics_table(statistics):
    def cell(shares):
        total = sum(shares.values())
        parts = [f"{reason} {share:.1f}" for reason, share in shares.items() if share >= 0.05]
        return f"{total:.1f}" + (f" ({', '.join(parts)})" if len(parts) > 1 else f" ({parts[0].rsplit(maxsplit=1)[0]})" if parts else "")
    rows = [[name, *(cell(by_variant[v]) for v in experiments.STATISTICS_VARIANTS)] for name, by_variant in statistics.items()]
    seed = " and ".join(f"{share:.1f}" for share in seed_lines.FLUSHED)
    rows.append(["seed: after boot, and a kernel build", "100", seed, "–", "–"])
    return report.markdown_table(["updates that leave the stock, %, by reason", *experiments.STATISTICS_VARIANTS], rows)


# --- the model -------------------------------------------------------------------------------------------------------------------

def off(predicted, known, is_fitted=False):
    return "fitted" if is_fitted else f"{100 * (predicted / known - 1):+.0f} %" if known else "–"


def model_tables(model, disturbed):
    # Threads that did not run at the same time met no line that was elsewhere.
    told = {run.variant for threads in (1, 2) for run in experiments.timed_pairs(threads) if run in disturbed}
    here = [[name, f"{predicted / 1000:,.0f}", f"{'~' if name in told else ''}{measured / 1000:,.0f}",
             "disturbed" if name in told else off(predicted, measured)] for name, predicted, measured in model["here"]]
    pairs = [[name, f"{predicted:,.0f}", f"{known:,}" if known else "–", off(predicted, known, name in seed_model.FITTED["pairs"])]
             for name, predicted, known in model["pairs"]]
    messages = [[name, f"{predicted:,.0f}", f"{known:,.0f}" if known else "–", off(predicted, known, name in seed_model.FITTED["messages"])]
                for name, predicted, known in model["messages"]["rows"]]
    return "\n".join([
        f"Checked here, where a locked addition takes {model['transfer']['home']:.1f} ns, and {model['transfer']['moved']:.1f} ns if another CPU "
        "has just written the line. Two threads, from what one takes:\n",
        report.markdown_table(["thousand pairs a second", "model", "measured", "model is off by"], here),
        f"On 96 CPUs, with {model['work_ns']:.0f} ns of work a pair, the kernel's, and {model['transfer_ns']:.0f} ns a transfer, both fitted "
        "to the two v2 figures of the seed; v1's are predictions:\n",
        report.markdown_table(["thousand pairs a second", "model", "seed", "model is off by"], pairs),
        f"On 72 CPUs, with the same transfer, the work of the unaccounted run, and {model['messages']['factor']:.1f} times the charges that are "
        "counted here, which is fitted to 6.0; the others are predictions:\n",
        report.markdown_table(["Mbit/s of one of 36 pairs", "model", "seed", "model is off by"], messages),
    ])


# --- everything ------------------------------------------------------------------------------------------------------------------

def times_summary(times, model):
    two, many = times["pairs"][2], times["pairs"][96]
    predicted = {name: value for name, value, _ in model["pairs"]}
    names = ("linux_5_14_before", "linux_5_14", "allot")
    rows = [
        ["thousand pairs of 4 KiB a second, 2 threads here", "–", *(f"{two[v] / 1000:,.0f}" for v in names)],
        ["the same, 96 threads here", "–", *(f"{many[v] / 1000:,.0f}" for v in names)],
        ["the same, 96 CPUs, by the model", "8,478 → 418,142", *(f"{predicted[v]:,.0f}" for v in names)],
        ["36 TCP connections here, against no accounting, %", f"{in_seed('linux_6_0'):+.1f} → {in_seed('linux_6_1'):+.1f}",
         *(with_noise(times["tcp"], v) for v in ("linux_6_0", "linux_6_1", "allot"))],
    ]
    return report.markdown_table(["times of this machine", "seed", "before", "after", "allot"], rows)


def claims_table(claims):
    """What is timed on a machine that others use is marked with a tilde."""
    return report.markdown_table(["what must be seen", "found", "seen"],
                                 [[c.sentence, c.found, "yes" if c.holds else "**no**"] for c in claims])


def warning(load):
    """Said where times are worth little. What is counted is the same on a busy machine."""
    return " **Others used the machine: look at counts, not at times.**" if float(load) > 0.5 else ""


def everything(counts, sizes, times, statistics, model, claims, lab, load_before):
    streams = {"synthetic": counts["statistics"], **statistics}
    return "\n".join([
        "# The seed experiments\n",
        f"{report.machine()}. Load {load_before} before (1 is a busy CPU). {plural(lab.rounds, 'round')} in turn "
        f"of {lab.seconds} s, medians.{warning(load_before)} A thread of a benchmark is a CPU of the kernel's engine: it has stocks of its own.\n",
        counts_summary(counts), COUNTING_RULE + "\n", times_summary(times, model), claims_table(claims),
        "## 1. Messages\n", message_counts(counts), message_times(times), leaf_counts(counts), leaf_times(times),
        "`bench/page_instructions` counts the instructions that accounting adds to a message.\n",
        "## 2. kmalloc and kfree\n", pair_counts(counts), protected_counts(counts), size_counts(sizes),
        f"Measured, without statistics; ~: in no round did the threads have {experiments.OWN_CPUS:.0%} of the CPUs they could use:\n",
        pair_times(times, lab.disturbed), pair_ratios(times), size_times(times),
        "## 3. Statistics\n", statistics_table(streams),
        "## 4. A model of cache lines\n", "These figures are estimates (model/cache_lines.py), no measurements.\n",
        model_tables(model, lab.disturbed),
    ])
