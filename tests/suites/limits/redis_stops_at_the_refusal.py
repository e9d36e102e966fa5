"""redis-server, filled with 1 KiB values beyond its limit. Policy fail leaves the refusal to redis, whose handler allocates
to say what could not be allocated, is refused too, and calls itself until its stack is used up. Policy abort stops it at the refusal, with a line that says which tenant,
limit and size.
"""
import resource
import subprocess

import limited
import preloaded
from limited import expect

STACK_BYTES = 256 << 10  # for the handler that calls itself


def fill(way, policy):
    """(status, what the server wrote) of a server that is filled until it stops."""
    port = preloaded.free_port()
    command = ["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--crash-memcheck-enabled", "no"]
    words, environment = way.command(command, 48, 120, {"oom": policy})
    way.max_bytes = 48 * limited.MEBIBYTE
    log = open(way.runner.scratch / f"redis-{port}.log", "w+")
    server = subprocess.Popen(words, cwd=way.runner.scratch, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (STACK_BYTES, STACK_BYTES)))
    try:
        way.runner.wait_until_listening(server, port, log)
        subprocess.run(["redis-benchmark", "-p", str(port), "-q", "-n", "400000", "-r", "400000", "-P", "32", "-t", "set", "-d", "1024"],
                       capture_output=True, timeout=limited.TIMEOUT_SECONDS)
        status = server.wait(limited.TIMEOUT_SECONDS)
    finally:
        if server.poll() is None:
            server.terminate()
            server.wait()
    log.seek(0)
    return status if status >= 0 else 128 - status, log.read()


def work(way):
    status, said = fill(way, "fail")
    expect("Out Of Memory allocating" in said, f"redis itself says so: {said[-2000:]}")
    expect(status in (134, 139), f"redis ends by its own abort, or its stack does: {status}")
    if way.name == "ulimit":
        return
    status, said = fill(way, "abort")
    expect(status == 134, f"the refusal aborts: {status} {said[-2000:]}")
    expect("Out Of Memory allocating" not in said, "redis never sees the refusal")
    lines = [line for line in said.splitlines() if "allot" in line and str(way.max_bytes) in line]
    expect(lines, f"one line names the limit: {said[-2000:]}")


limited.check(work, needs=["redis-server", "redis-benchmark"])
