"""export: read by Prometheus's own checker and by its client's parser of OpenMetrics.

    export_test.py ALLOT MEMBER
"""
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cases  # noqa: E402
from hierarchies import Hierarchies  # noqa: E402

try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
    from prometheus_client.parser import text_string_to_metric_families as parse_text
except ImportError:
    # The package is the distribution's, and so must be the interpreter.
    if os.path.realpath(sys.executable) != os.path.realpath("/usr/bin/python3") and os.access("/usr/bin/python3", os.X_OK):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
    print("python3-prometheus-client is not installed")
    sys.exit(77)
if not shutil.which("promtool"):
    print("promtool (package prometheus) is not installed")
    sys.exit(77)


def read(h, *arguments):
    """Samples of both formats, which say the same; each is checked by its tool."""
    text, opened = h.ok("export", *arguments), h.ok("export", "--openmetrics", *arguments)
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0 and checked.stderr == checked.stdout == "", checked
    samples = {}
    for family in parse_openmetrics(opened):
        assert family.name.startswith("allot_") and family.documentation.endswith("."), family
        assert not family.unit or family.name.endswith(family.unit), family
        samples.update({(s.name, *sorted(s.labels.items())): s.value for s in family.samples})
    assert opened.endswith("# EOF\n") and "# UNIT allot_memory_current_bytes bytes\n" in opened
    assert samples == {(s.name, *sorted(s.labels.items())): s.value for f in parse_text(text) for s in f.samples}
    return samples


def of(samples, name, tenant, **labels):
    return samples[(name, *sorted({"tenant": tenant, **labels}.items()))]


def test_figures_of_each_tenant():
    with Hierarchies() as h:
        h.ok("create", "--hierarchy", "h", "/a", "memory.max=64M")
        member = h.member("/a/b")
        member.do("charge", 5000)
        member.do("stock", 4096)
        member.do("event", "oom")
        samples = read(h)
        assert of(samples, "allot_memory_current_bytes", "/a") == 5000 and of(samples, "allot_memory_usage_bytes", "/a") == 9096
        assert of(samples, "allot_memory_max_bytes", "/a") == 64 << 20 and of(samples, "allot_memory_max_bytes", "/") == float("inf")
        assert of(samples, "allot_memory_events_total", "/a", event="oom") == 1
        assert of(samples, "allot_memory_events_local_total", "/a", event="oom") == 0
        assert of(samples, "allot_memory_stat_external_bytes", "/a/b") == 5000
        assert of(samples, "allot_memory_stat_throttled_seconds_total", "/a") == 0
        assert of(samples, "allot_processes", "/") == 1 and samples[("allot_tenants",)] == 3


def test_names_of_any_bytes_are_labels_that_differ():
    with Hierarchies() as h:
        names = ['quo"te', "back\\slash", "\\xff", "\udcff", "tab\t", "caf\u00e9", "{}=,#", " blank "]
        for name in names:
            h.ok("create", "--hierarchy", "h", "/" + name)
        labels = {dict(key[1:])["tenant"] for key in read(h) if key[0] == "allot_memory_current_bytes"}
        assert len(labels) == len(names) + 1, labels
        assert {'/quo"te', "/back\\slash", "/\\xff", "/\\x5cxff", "/tab\\x09", "/caf\u00e9", "/{}=,#", "/ blank "} < labels, labels


def test_of_two_thousand_tenants_the_largest_have_series_and_the_rest_is_summed_once():
    with Hierarchies() as h:
        large, small = h.member("/large"), h.member("/many/t0/below")
        large.do("charge", 1 << 20)
        small.do("charge", 300)
        h.member("/many/t1").do("charge", 200)
        for i in range(2, 2000):
            small.do("tenant", f"/many/t{i}")
        samples = read(h)
        series = [key for key in samples if key[0] == "allot_memory_current_bytes"]
        assert len(series) == 1001, len(series)
        assert samples[("allot_tenants",)] == 2004 and samples[("allot_tenants_dropped_total",)] == samples[("allot_tenants",)] - 1000
        few = read(h, "--max-tenants", "3")  # the root, /large and /many
        assert of(few, "allot_memory_current_bytes", "/large") == 1 << 20
        assert of(few, "allot_memory_current_bytes", "(other)") == 500
        assert ("allot_memory_max_bytes", ("tenant", "(other)")) not in few
        none = read(h, "--max-tenants", "0")
        assert of(none, "allot_memory_current_bytes", "(other)") == (1 << 20) + 500


cases.run_all(globals())
