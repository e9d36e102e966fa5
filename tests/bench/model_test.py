#!/usr/bin/env python3
"""The model of cache lines: what must hold whatever its parameters, and how far it is from what was measured elsewhere."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path[:0] = [str(BENCH), str(BENCH / "model")]
import cache_lines
import seed_lines
import seed_model
from cache_lines import Line

# Counted: shared read-modify-writes of a 4 KiB pair (engine_test.cpp asserts them).
BEFORE_V2 = {"spare_bytes": 2, "references": 2}
AFTER_V2 = {}
BEFORE_V1 = {"spare_bytes": 2, "references": 2, "kernel_usage": 6}
AFTER_V1 = {"kernel_usage": 6}


class CacheLines(unittest.TestCase):
    def test_one_cpu_owns_every_line(self):
        self.assertAlmostEqual(cache_lines.cycle(1, 100.0, [Line("a", 7, 3)], 1000.0), 100.0)

    def test_cpus_that_share_nothing_add_up(self):
        one = cache_lines.throughput(1, 250.0, [], 60.0)
        self.assertAlmostEqual(cache_lines.throughput(96, 250.0, [], 60.0), 96 * one)

    def test_a_line_bounds_all_cpus_together(self):
        lines, transfer = [Line("busy", 2), Line("idle", 0.01)], 60.0
        most = 1e9 / (2 * transfer)  # of transfers: a CPU that comes back before others did needs none
        for cpus in (2, 8, 96, 400):
            self.assertLess(cache_lines.throughput(cpus, 10.0, lines, transfer) * (cpus - 1) / cpus, 1.000001 * most)
        self.assertGreater(cache_lines.throughput(400, 10.0, lines, transfer), 0.98 * most)

    def test_looks_cost_nothing_where_nobody_waits_and_a_transfer_where_all_do(self):
        few = [cache_lines.cycle(2, 1e6, [Line("a", 1, looks)], 60.0) for looks in (0, 1)]
        self.assertAlmostEqual(few[0], few[1], delta=1)
        many = [cache_lines.throughput(200, 1.0, [Line("a", 1, looks)], 60.0) for looks in (0, 1)]
        self.assertAlmostEqual(many[0] / many[1], 2, delta=0.05)

    def test_a_longer_transfer_never_gives_more(self):
        lines = [Line("a", 1.5, 1), Line("b", 0.5)]
        values = [cache_lines.throughput(32, 100.0, lines, transfer) for transfer in range(0, 400, 10)]
        self.assertEqual(values, sorted(values, reverse=True))

    def test_fit_is_the_inverse_of_throughput(self):
        lines = [Line("a", 2), Line("b", 1, 1)]
        self.assertAlmostEqual(cache_lines.fit_transfer(48, 200.0, lines, cache_lines.throughput(48, 200.0, lines, 71.5)), 71.5, delta=1e-3)


class Seeds(unittest.TestCase):
    def test_a_packed_counter_is_one_line_and_a_split_one_two(self):
        counts = {"usage": 3, "protection": 2}
        packed = seed_lines.Operation(counts, 3, True).lines()
        split = seed_lines.Operation(counts, 3, False).lines()
        self.assertEqual([(line.visits, line.looks) for line in packed], [(1, 3), (1, 1), (1, 1)])
        self.assertEqual([(line.visits, line.looks) for line in split], [(1, 0), (1, 2), (1, 0), (1, 0)])

    def test_pairs_on_96_cpus_are_predicted_within_an_eighth(self):
        counts = {"linux_5_14_before": BEFORE_V2, "linux_5_14": AFTER_V2, "linux_5_14_before_v1": BEFORE_V1, "linux_5_14_v1": AFTER_V1}
        rows = seed_model.elsewhere({"pairs": counts, "messages": {}})["pairs"]
        self.assertEqual(len(rows), 4)
        for variant, predicted, known in rows:
            self.assertLess(abs(predicted / known - 1), 1 / 8, variant)

    def test_messages_on_72_cpus_keep_the_order_of_the_patches(self):
        # A walk a message, three levels; batches of 64 pages halve the walks.
        def counts(share, protection):
            return {"usage": 3 * share, "protection": protection * share}
        of = {"linux_6_0": counts(1, 2), "linux_6_0_a": counts(1, 0), "linux_6_0_b": counts(1, 2), "linux_6_0_c": counts(0.5, 2),
              "linux_6_1": counts(0.5, 0)}
        result = seed_model.messages({"messages": of}, 60.0)
        predicted = {variant: value for variant, value, _ in result["rows"]}
        self.assertAlmostEqual(predicted["linux_6_0"], seed_lines.MESSAGES["linux_6_0"], delta=1)
        for variant in ("linux_6_0_a", "linux_6_0_b", "linux_6_0_c"):
            self.assertLess(predicted["linux_6_0"], predicted[variant])
            self.assertLess(predicted[variant], predicted["linux_6_1"])
        self.assertLess(predicted["linux_6_1"], seed_lines.MESSAGES["null"])


unittest.main(verbosity=0)
