"""memcached: its worker threads under concurrent clients, values of every size, eviction at its own limit."""
import concurrent.futures
import getpass
import socket

import preloaded


def talk(port, seed):
    """Sets and reads back; the number of values that came back right, none of them evicted at these sizes."""
    right = 0
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rwb") as stream:
        for i in range(1500):
            value = b"%d" % i * (1 + (i * 37 + seed) % 400)
            stream.write(b"set k%d-%d 0 0 %d\r\n%s\r\nget k%d-%d\r\n" % (seed, i, len(value), value, seed, i))
            stream.flush()
            stored, header, body, end = stream.readline(), stream.readline(), stream.readline(), stream.readline()
            right += stored == b"STORED\r\n" and header.startswith(b"VALUE") and body == value + b"\r\n" and end == b"END\r\n"
    return right


def work(runner):
    port = preloaded.free_port()
    with runner.server("memcached", "-l", "127.0.0.1", "-p", port, "-U", "0", "-t", "4", "-m", "64", "-u", getpass.getuser(),
                       port=port):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            return list(pool.map(lambda seed: talk(port, seed), range(8)))


preloaded.compare(work, needs=["memcached"])
