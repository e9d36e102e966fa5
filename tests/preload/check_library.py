"""The preload library from outside: what it exports, needs and weighs.

  check_library.py counting|null LIBRARY EXPORTED_SYMBOLS OPTIMIZATION   (0: the size is not judged)

1. It exports what the list says, all of it and nothing else but allot_*; only these have a version.
2. It needs libc alone, of a version that other distributions have, and nothing that registers destructors or guards.
3. It has no static initialiser but its own, at most 64 bytes of thread storage, and is small when stripped.
"""
import os
import re
import subprocess
import sys
import tempfile

NEWEST_GLIBC = (2, 34)
TLS_BYTES_MOST = 64
STRIPPED_BYTES_MOST = 237568  # of which what processes share is an eighth
problems = []


def expect(condition, text):
    if not condition:
        problems.append(text)


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def listed_symbols(path, kind):
    """The names of the sections of the list that concern this library."""
    names, section = set(), ""
    with open(path, encoding="utf-8") as file:
        for line in file:
            heading = re.match(r"# (\w+):", line)
            if heading:
                section = heading.group(1)
            elif not line.startswith("#") and (section == "family" or section == kind):
                names.update(line.split())
    return names


def check_exports(kind, library, list_path):
    exported = {}
    for line in output_of("nm", "-D", "--defined-only", library).splitlines():
        _, letter, symbol = line.split()
        name, _, version = symbol.partition("@")
        if letter != "A":  # a version's own symbol
            exported[name] = version.lstrip("@")
    own = {name for name in exported if name.startswith("allot_")}
    listed = listed_symbols(list_path, kind)
    expect(len(listed) >= 40, f"{list_path} lists {len(listed)} names")
    expect(listed <= set(exported), f"listed, not exported: {sorted(listed - set(exported))}")
    surplus = set(exported) - listed - (own if kind == "counting" else set())
    expect(not surplus, f"exported, not listed: {sorted(surplus)}")
    for name, version in exported.items():
        wanted = "ALLOT_0.1" if name in own else ""  # a versioned malloc does not interpose
        expect(version == wanted, f"{name} has version '{version}', expected '{wanted}'")


def check_needs(library):
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-d", library))
    expect(set(needed) <= {"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}, f"needs {needed}")
    for line in output_of("nm", "-D", "--undefined-only", library).splitlines():
        kind, name = line.split()[-2:]
        base, _, version = name.partition("@")
        expect(not base.startswith("__cxa_") or kind == "w", f"imports {base}")
        found = re.match(r"@?GLIBC_(\d+)\.(\d+)", version)
        if found:
            expect(tuple(map(int, found.groups())) <= NEWEST_GLIBC, f"{base} needs glibc {version}")
        else:
            expect(kind in "wv", f"imports {base}, which is not libc's")


def check_weight(kind, library, optimization):
    tls = [line for line in output_of("readelf", "-lW", library).splitlines() if line.split()[:1] == ["TLS"]]
    for line in tls:
        size = int(line.split()[5], 16)
        expect(size <= TLS_BYTES_MOST, f"{size} bytes of thread storage, expected at most {TLS_BYTES_MOST}")
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "stripped")
        subprocess.run(["strip", "-o", stripped, library], check=True)
        size = os.path.getsize(stripped)
        expect(size < STRIPPED_BYTES_MOST or optimization == "0", f"{size} bytes stripped, expected less than {STRIPPED_BYTES_MOST}")
    flags = re.search(r"\(FLAGS_1\)(.*)", output_of("readelf", "-d", library))
    if kind == "counting":  # it starts before everyone else, and before there are threads
        expect(flags and "INITFIRST" in flags.group(1) and "NODELETE" in flags.group(1), f"flags are {flags}")
    # dlopen must jump to the real one, which looks at its caller's address.
    code = output_of("objdump", "-d", "--no-show-raw-insn", "--disassemble=dlopen", library)
    expect(re.search(r"\bjmp\s+\*%", code), f"dlopen does not end in a jump:\n{code}")


def main():
    kind, library, list_path, optimization = sys.argv[1:]
    check_exports(kind, library, list_path)
    check_needs(library)
    check_weight(kind, library, optimization)
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


main()
