"""nginx: master and workers, a large file plain and compressed on the way, a reload in between, an error page."""
import hashlib
import os
import signal

import preloaded

CONFIGURATION = """
daemon off; master_process on; worker_processes 2; pid {scratch}/nginx.pid; error_log stderr error; {user}
events {{ worker_connections 256; }}
http {{
    access_log off; gzip on; gzip_types text/plain; default_type text/plain; sendfile on;
    client_body_temp_path {scratch}/body; proxy_temp_path {scratch}/proxy; fastcgi_temp_path {scratch}/fcgi;
    uwsgi_temp_path {scratch}/uwsgi; scgi_temp_path {scratch}/scgi;
    server {{ listen 127.0.0.1:{port}; root {scratch}/www; }}
}}
"""


def work(runner):
    port = preloaded.free_port()
    user = "user root;" if os.getuid() == 0 else ""
    runner.file("www/page.txt", "".join(f"line {i * i % 9973}\n" for i in range(60000)))
    configuration = runner.file("nginx.conf", CONFIGURATION.format(scratch=runner.scratch, port=port, user=user))
    address = f"http://127.0.0.1:{port}/page.txt"

    def get(*options):
        out, _ = runner.run("curl", "-s", *options, preload=False)
        return hashlib.sha256(out.encode()).hexdigest()

    with runner.server("nginx", "-e", "stderr", "-p", runner.scratch, "-c", configuration, port=port) as master:
        pages = [get(address), get("--compressed", address)]
        pages += [get("--compressed", *[address] * 40), get("-Z", "--parallel-max", "10", *[address] * 40)]
        master.send_signal(signal.SIGHUP)
        pages += [get("--retry", "5", "--retry-connrefused", address), get("-o", "/dev/null", "-w", "%{http_code}", address + "x")]
    return pages


preloaded.compare(work, needs=["nginx", "curl"])
