"""What the experiments must show, as sentences that hold or do not: of counts, which any machine must reach, and of times."""
import dataclasses

import seed_experiments as experiments


@dataclasses.dataclass(frozen=True)
class Claim:
    sentence: str
    found: str
    holds: bool
    is_counted: bool  # else it is timed, and a machine that others use may miss it


def counted(sentence, values, expected, within=0.01):
    """All values are what is expected, up to a part of it."""
    holds = all(abs(value - wanted) <= within * wanted for value, wanted in zip(values, expected, strict=True))
    return Claim(sentence, " → ".join(f"{value:.3g}" for value in values), holds, True)


def of_counts(counts):
    def shared(part, *variants):
        return [counts[part][variant]["shared"] for variant in variants]
    flushed = {variant: sum(by_reason.values()) for variant, by_reason in counts["statistics"].items()}
    messages = {variant: of["shared"] for variant, of in counts["messages"].items()}
    least = min(value for variant, value in messages.items() if variant != "allot")
    walks = [of["allot"]["walks"] for of in counts["leaves"].values()]
    return [
        counted("a pair of 4 KiB, v2: 4 shared writes → 0, allot 0",
                shared("pairs", "linux_5_14_before", "linux_5_14", "allot"), (4, 0, 0)),
        counted("the same, v1: 10 → 6", shared("pairs", "linux_5_14_before_v1", "linux_5_14_v1"), (10, 6)),
        counted("one of 512, protected: 0.444, with (A) 0.190, with (A) and (C) 0.095",
                shared("protected", "linux_6_0", "linux_6_0_a", "linux_6_1"), (0.444, 0.190, 0.095)),
        Claim("a message: fewer shared writes with allot than with any release", f"{messages['allot']:.3g}, least {least:.3g}",
              messages["allot"] < least, True),
        Claim("any number of groups in turn: no walks with allot once each has its stock", f"at most {max(walks):.3g} a message",
              max(walks) < 0.1, True),
        Claim("updates that leave the stock, synthetic stream: 17 to 20 %", f"{flushed['linux_5_14']:.1f} %",
              17 <= flushed["linux_5_14"] <= 20, True),
        Claim("the same with allot: at most 1 %", f"{flushed['allot']:.2f} %", flushed["allot"] <= 1, True),
    ]


def of_statistics(statistics):
    def most(variant):
        return max(sum(by_variant[variant].values()) for by_variant in statistics.values())
    names = ", ".join(statistics)
    return [Claim(f"each trace ({names}): at most 20 %", f"at most {most('linux_5_14'):.1f} %", most("linux_5_14") <= 20, True),
            Claim("the same with allot: at most 1 %", f"at most {most('allot'):.2f} %", most("allot") <= 1, True)]


def of_times(times, is_disturbed):
    def ratio(threads, after, before):
        return times["pairs"][threads][after] / times["pairs"][threads][before]

    def timed(sentence, low, high, *values):
        found = ", ".join(f"{value:.2f}" for value in values)
        return Claim(sentence, ("~" if is_disturbed else "") + found, all(low <= value <= high for value in values), False)
    endless = float("inf")
    linux = [variant for variant in experiments.PAIR_VARIANTS if variant.startswith("linux_") and variant != "linux_none"]
    releases = [min(ratio(n, "allot", variant) for variant in linux) for n in experiments.PAIR_THREADS]
    sizes = [of["allot"] / max(of[variant] for variant in experiments.TIMED_SIZE_VARIANTS if variant.startswith("linux_"))
             for of in times["sizes"].values()]
    threads = ", ".join(map(str, experiments.PAIR_THREADS))
    return [
        timed("pairs a second, v2, after / before, 2 threads: at least 1.7", 1.7, endless, ratio(2, "linux_5_14", "linux_5_14_before")),
        timed("with 96 threads: at least 2.8", 2.8, endless, ratio(96, "linux_5_14", "linux_5_14_before")),
        timed("v1, 2 and 96 threads: between 1.0 and 1.7", 1.0, 1.7, *(ratio(n, "linux_5_14_v1", "linux_5_14_before_v1") for n in (2, 96))),
        timed(f"allot / the fastest release, {threads} threads: above 1", 1, endless, *releases),
        timed("the same with statistics, of sizes and bursts the least: above 1", 1, endless, min(sizes)),
        timed("allot / no accounting, 2 and 96 threads: at least 0.9", 0.9, endless, *(ratio(n, "allot", "null") for n in (2, 96))),
    ]
