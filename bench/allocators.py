"""The allocators that the drivers compare: where their libraries are, and with what environment they run."""
import dataclasses
import glob
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent

# A tree of three levels with limits that a benchmark never reaches: what accounting costs when it does its
# full work and refuses nothing.
ACCOUNTED = {
    "ALLOT_TENANT": "/bench/one",
    "ALLOT_MEMORY_MAX": "16G",
    "ALLOT_MEMORY_HIGH": "12G",
    "ALLOT_MEMORY_LOW": "64M",
}

# The same tree in a file that processes share, of which the benchmark is one.
SHARED = ACCOUNTED | {"ALLOT_DIR": f"/dev/shm/allot-bench-{os.getpid()}", "ALLOT_HIERARCHY": "bench"}

PEERS = {
    "jemalloc": "libjemalloc.so.2",
    "mimalloc": "libmimalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
}


@dataclasses.dataclass(frozen=True)
class Allocator:
    name: str
    library: str = ""  # "": the C library's own
    environment: tuple = ()
    version: str = ""

    def env(self, variable="LD_PRELOAD"):
        """The caller's environment without anything that would change an allocator, and the library in `variable`."""
        env = {key: value for key, value in os.environ.items()
               if key != "LD_PRELOAD" and not key.startswith(("ALLOT_", "MALLOC_", "MIMALLOC_", "TCMALLOC_", "GLIBC_TUNABLES"))}
        env.update(self.environment)
        if self.library:
            env[variable] = self.library
        return env

    def env_for_counting(self, variable="LD_PRELOAD"):
        """The same for a run so slow, a step at a time, that free memory would go back by the clock meanwhile and be counted."""
        return self.env(variable) | {"ALLOT_PURGE_DELAY_MS": "max"}

    def answers_as(self, library_name):
        """Whether the library that a benchmark's output line names is this one."""
        if not self.library:
            return library_name.startswith("libc.so") or library_name.startswith("libc-")
        return os.path.basename(self.library) == library_name


def debian_version(path):
    """The package version that owns a file, or ""."""
    for candidate in (path, os.path.realpath(path), path.replace("/usr/lib/", "/lib/")):
        found = subprocess.run(["dpkg-query", "-S", candidate], text=True, capture_output=True, check=False)
        if found.returncode == 0:
            package = found.stdout.split(": ")[0]
            shown = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], text=True, capture_output=True, check=False)
            return shown.stdout.strip()
    return ""


def system_library(name):
    """The path of a shared library as the loader's cache knows it, or "" where it is not installed."""
    listed = subprocess.run(["/sbin/ldconfig", "-p"], text=True, capture_output=True, check=False).stdout
    for line in listed.splitlines():
        if line.strip().startswith(name + " ") and "x86-64" in line or line.strip().startswith(name + " (libc6,AArch64"):
            return line.split("=> ")[1].strip()
    found = sorted(glob.glob(f"/usr/lib/*/{name}") + glob.glob(f"/usr/lib/{name}") + glob.glob(f"/usr/local/lib/{name}"))
    return found[0] if found else ""


def discover(build):
    """All allocators that are here, by name: allot (and in a shared hierarchy), allot-null (if built), the peers (if installed), glibc."""
    found = {}
    for name, library, environment in (
        ("allot", "liballot-preload.so", tuple(ACCOUNTED.items())),
        ("allot-null", "liballot-preload-null.so", ()),
        ("allot-shared", "liballot-preload.so", tuple(SHARED.items())),
    ):
        path = build / "preload" / library
        if path.exists():
            found[name] = Allocator(name, str(path), environment, "this build")
    for name, library in PEERS.items():
        path = system_library(library)
        if path:
            found[name] = Allocator(name, path, (), debian_version(path))
    libc = system_library("libc.so.6")
    found["glibc"] = Allocator("glibc", "", (), debian_version(libc) if libc else "")
    return found


def default_build():
    """The first build directory that has benchmarks."""
    for name in ("build", "build-release"):
        if (ROOT / name / "bench" / "pair").exists():
            return ROOT / name
    return ROOT / "build"
