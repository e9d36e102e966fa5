"""redis-server: half a million commands from redis-benchmark, a background save (a fork), and the data read back."""
import re

import preloaded


def work(runner):
    port = str(preloaded.free_port())

    def ask(*words, input=""):
        return runner.run("redis-cli", "-p", port, *words, input=input, preload=False)[0]

    with runner.server("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                       "--enable-debug-command", "local", port=int(port)):
        said, _ = runner.run("redis-benchmark", "-p", port, "-q", "-n", "40000", "-c", "20", "-P", "8", "-r", "5000", "-d", "300",
                             "-t", "set,get,incr,lpush,rpop,sadd,hset,zadd,lrange_100,mset")
        finished = sorted(set(re.findall(r"(\w+)[^:\n]*: [\d.]+ requests per second", said)))
        ask("FLUSHALL")
        ask(input="".join(f"SET key:{i} {'x' * (i % 2000)}\nRPUSH list:{i % 50} {i}\nHSET hash:{i % 90} f{i} {i}\n" for i in range(4000)))
        digest = ask("DEBUG", "DIGEST")
        ask("SAVE")
        ask("DEBUG", "RELOAD")
        return finished, digest == ask("DEBUG", "DIGEST"), digest, ask("DBSIZE"), ask("LRANGE", "list:7", "0", "-1")


preloaded.compare(work, needs=["redis-server", "redis-cli", "redis-benchmark"])
