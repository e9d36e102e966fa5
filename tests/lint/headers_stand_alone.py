"""Each header compiles alone, and included twice; C headers as C11, and the public ones among them as C++20 too.

Usage: headers_stand_alone.py CC -- CXX   (each may be several words)
"""
import concurrent.futures
import os
import subprocess
import sys

from sources import Findings, LIBRARIES, ROOT, exceptions, text_of, tracked

COMMON = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-D_GNU_SOURCE", "-I.",
          "-Iaccounting/include", "-Ialloc/include"]


def compile_twice(path, command):
    """None, or what the compiler said."""
    program = f'#include "{path}"\n#include "{path}"\n'
    result = subprocess.run(command + COMMON + ["-"], input=program, cwd=ROOT, text=True, capture_output=True)
    return None if result.returncode == 0 else result.stderr.strip()


def main():
    cc, cxx = " ".join(sys.argv[1:]).split(" -- ")
    c11 = cc.split() + ["-std=c11", "-x", "c"]
    cxx20 = cxx.split() + ["-std=c++20", "-x", "c++"]
    jobs = []
    accepted = exceptions("headers_stand_alone")
    for path in tracked(".h", ".hpp"):
        if str(path) in accepted:
            continue
        public = "include" in path.parts
        internal = path.parts[0] in LIBRARIES and not public
        if path.suffix == ".h":
            jobs.append((path, "C", c11))
        if path.suffix == ".hpp" or public:
            jobs.append((path, "C++", cxx20 + (["-fno-exceptions", "-fno-rtti"] if internal else [])))

    findings = Findings()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (path, language, _), said in zip(jobs, pool.map(lambda job: compile_twice(job[0], job[2]), jobs)):
            if said:
                findings.add(path, 1, f"does not compile alone as {language}:\n{said}")
            if "#pragma once" not in text_of(path) and "#ifndef" not in text_of(path):
                findings.add(path, 1, "has no #pragma once")
    findings.exit(len(jobs))


main()
