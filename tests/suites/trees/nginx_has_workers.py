"""nginx with two workers that compress: one limit for both, and none refused while there is room; then a lower one, live, at which
answers fail and the server goes on.
"""
import hashlib
import os
import signal
import subprocess

import tree
from tree import MEBIBYTE, expect

CONFIGURATION = """
daemon off; master_process on; worker_processes 2; pid {scratch}/nginx.pid; error_log stderr error; {user}
events {{ worker_connections 256; }}
http {{
    access_log off; gzip on; gzip_types text/plain; default_type text/plain;
    client_body_temp_path {scratch}/body; proxy_temp_path {scratch}/proxy; fastcgi_temp_path {scratch}/fcgi;
    uwsgi_temp_path {scratch}/uwsgi; scgi_temp_path {scratch}/scgi;
    server {{ listen 127.0.0.1:{port}; root {scratch}/www; }}
}}
"""


def work(t):
    port = tree.free_port()
    page = "".join(f"line {i * i % 9973}\n" for i in range(60000))
    t.file("www/page.txt", page)
    user = "user root;" if os.getuid() == 0 else ""
    configuration = t.file("nginx.conf", CONFIGURATION.format(scratch=t.scratch, port=port, user=user))
    address = f"http://127.0.0.1:{port}/page.txt"

    def get():
        result = subprocess.run(["curl", "-s", "--compressed", address], capture_output=True, timeout=30)
        return hashlib.sha256(result.stdout).hexdigest()

    right = hashlib.sha256(page.encode()).hexdigest()
    with t.running("nginx", "-e", "stderr", "-p", t.scratch, "-c", configuration, max_mebibytes=64, port=port, stop=signal.SIGQUIT):
        discarded = ["-o", "/dev/null", address] * 60
        clients = [subprocess.Popen(["curl", "-s", "-w", "%{http_code} ", "--compressed", *discarded],
                                    stdout=subprocess.PIPE, text=True) for _ in range(8)]
        for client in clients:
            codes, _ = client.communicate(timeout=60)
            expect(codes.split() == ["200"] * 60, codes[-500:])
        expect(get() == right, "the page is whole")
        expect(t.events()["oom"] == 0, f"nobody was refused: {t.events()}")
        expect(len(t.allot("get", "/tree", "cgroup.procs").split()) == 3, t.allot("get", "/tree", "cgroup.procs"))
        # Less than the state of one compression beyond what is used now: zlib is refused, and nginx sends what it has.
        t.allot("set", "/tree", f"memory.max={t.number('memory.current') + 64 * 1024}")
        get()
        expect(t.events()["oom"] > 0, f"now somebody was: {t.events()}")
        t.allot("set", "/tree", f"memory.max={64 * MEBIBYTE}")
        expect(get() == right, "and the server goes on")
        t.allot("verify")


tree.check(work, needs=["nginx", "curl"])
