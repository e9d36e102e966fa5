"""Which lines the experiments' operations take, from what one operation counted; and what the experiments' machines did.

The counts are those of memcg::tally, an operation; the machines' figures are those of the seeds, patches to Linux's memory
controller: "mm/memcg: cache vmstat data in percpu memcg_stock_pcp" and "mm/memcg: improve refill_obj_stock() performance" of
5.14, and the series "memcg: optimize charge codepath" of 6.1; and of "memcg: multi-memcg percpu charge cache" of 6.16.
"""
import dataclasses

from cache_lines import Line


@dataclasses.dataclass(frozen=True)
class Operation:
    """One operation of one CPU: shared read-modify-writes, and how the counters lie in memory."""
    counts: dict
    levels: int
    is_packed: bool

    def lines(self):
        """A counter a level, and the bytes that an obj_cgroup keeps for all CPUs. What a stock's reference costs is kept by
        CPU while its cgroup lives, and is no shared line then. What is not said of an operation is not done by it."""
        def get(name):
            return self.counts.get(name, 0.0)
        lines = []
        for level in range(self.levels):
            visits = get("usage") / self.levels
            is_top = level == 0  # the one that is protected
            protection = get("protection") if is_top else 0.0
            if self.is_packed:
                # The limit and the watermark are looked at after the addition, and protection is exchanged in the same line.
                lines.append(Line(f"usage {level}", visits, visits + protection))
            else:
                # min's exchange, low's, and a look at the watermark, which lies beside them.
                lines.append(Line(f"usage {level}", visits))
                lines.append(Line(f"protection {level}", protection / 2, protection))
            kernel = get("kernel_usage") / self.levels
            lines.append(Line(f"kernel usage {level}", kernel, kernel if self.is_packed else 0.0))
        lines.append(Line("spare bytes", get("spare_bytes")))
        lines.append(Line("peaks", get("peaks")))
        return [line for line in lines if line.visits > 0]

    def share(self, part):
        """What one of several CPUs does where they do an operation together."""
        return Operation({name: count * part for name, count in self.counts.items()}, self.levels, self.is_packed)


# kmalloc and kfree of 4096 bytes, thousands of pairs a second of 96 threads together, one a CPU.
PAIRS_CPUS = 96
PAIRS = {"linux_5_14_before": 8478, "linux_5_14": 418142, "linux_5_14_before_v1": 4304, "linux_5_14_v1": 4731}

# 36 netperf TCP_SENDFILE of 10 KiB messages on 72 CPUs, mean Mbit/s of one.
MESSAGE_CPUS = 72
MESSAGE_BITS = 10 * 1024 * 8
MESSAGES = {"null": 21694.8, "linux_6_0": 10482.7, "linux_6_0_a": 14542.5, "linux_6_0_b": 12413.7, "linux_6_0_c": 17063.7,
            "linux_6_1": 20120.3}

# Updates of statistics that left the stock, of those that were made: percent, after boot and in a parallel kernel build.
FLUSHED = (100 * 634400 / 3243830, 100 * 24329265 / 142512465)

# One netperf client a cgroup, on 72 CPUs: mean Mbit/s by clients, before 6.16 and since.
LEAVES = {6: (42584.1, 48603.4), 12: (30617.1, 47919.7), 18: (25305.2, 45497.3), 24: (20104.1, 37907.7), 30: (14702.4, 30746.5),
          36: (10801.5, 26476.3)}


def message_ns(megabits):
    """Nanoseconds that one pair takes for a message."""
    return MESSAGE_BITS / megabits * 1000
