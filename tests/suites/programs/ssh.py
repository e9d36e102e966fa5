"""sshd and ssh on loopback: re-executes itself, forks, and shuts its own child in a seccomp filter before it allocates on."""
import getpass
import os
import shutil
import sys

import preloaded

CONFIGURATION = """
Port {port}
ListenAddress 127.0.0.1
HostKey {scratch}/host_key
PidFile none
AuthorizedKeysFile {scratch}/user_key.pub
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
"""


def work(runner):
    port = preloaded.free_port()
    for name in ("host_key", "user_key"):
        runner.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", name)
    configuration = runner.file("sshd_config", CONFIGURATION.format(port=port, scratch=runner.scratch))
    os.chmod(runner.scratch, 0o755)

    def ssh(command, input=""):
        return runner.run("ssh", "-F", "none", "-p", port, "-i", "user_key", "-o", "StrictHostKeyChecking=no", "-o",
                          f"UserKnownHostsFile={runner.scratch}/known", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR",
                          f"{getpass.getuser()}@127.0.0.1", command, input=input)

    text = "".join(f"{i * 7919 % 10007}\n" for i in range(50000))
    sshd = shutil.which("sshd", path=preloaded.SBIN + ":/usr/bin")
    with runner.server(sshd, "-D", "-e", "-f", configuration, port=port):
        return [ssh("echo hello; exit 0"), ssh("sort -n | cksum", input=text), ssh("cat", input=text)[0] == text]


if os.getuid() == 0:
    os.makedirs("/run/sshd", exist_ok=True)
elif not os.path.isdir("/run/sshd"):
    print("skipped: sshd wants /run/sshd, which only root can make")
    sys.exit(77)
preloaded.compare(work, needs=["sshd", "ssh", "ssh-keygen"])
