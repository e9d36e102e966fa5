"""The exit status of every command and what it says, as a table: arguments, status, what standard error or output begins with.

    allot_test.py ALLOT
"""
import subprocess
import sys

ALLOT = sys.argv[1]

# Wrong input: one line on standard error that begins with `allot: ` and the argument, status 2, nothing on standard output.
USAGE = [
    ([], "a command is missing; expected run, tree, top, ls, create, rm, get, set, reclaim, verify, export, watch, doctor, trace, describe"),
    (["rnu"], "rnu: no such command; did you mean run?"),
    (["--max"], "--max: no such command"),
    (["run"], "COMMAND is missing"),
    (["run", "--max", "5MB", "--", "true"], "--max: '5MB': KB, MB and the like"),
    (["run", "--max", "", "--", "true"], "--max: '': it is empty; expected bytes"),
    (["run", "--max=-1", "--", "true"], "--max: '-1': a size is not negative"),
    (["run", "--max", "1e9", "--", "true"], "--max: '1e9': an exponent"),
    (["run", "--high", "101%", "--", "true"], "--high: '101%': it is more than 100%"),
    (["run", "--oom", "panic", "--", "true"], "--oom: 'panic': expected fail or kill or abort"),
    (["run", "--tenant", "web", "--", "true"], "--tenant: 'web': expected /"),
    (["run", "--tree", "/nowhere", "--", "true"], "--tree: /nowhere: cannot be read"),
    (["run", "--maxx", "1", "--", "true"], "--maxx: no such option of allot run; did you mean --max?"),
    (["doctor", "--json"], "--json: no such option of allot doctor"),
    (["describe", "--html"], "--html: no such option of allot describe"),
    (["describe", "--json", "--markdown"], "--"),
    (["describe", "stats"], "stats: no such table; expected options, statistics, events"),
]

# Right input: status, and what standard output begins with.
ANSWERS = [
    (["--help"], 0, "allot keeps a bill"),
    (["--version"], 0, "allot 0."),
    (["run", "--help"], 0, "Runs COMMAND"),
    (["doctor", "--help"], 0, "Says whether COMMAND"),
    (["describe", "--help"], 0, "Prints the tables"),
    (["describe"], 0, "options\n"),
    (["describe", "--json", "events"], 0, '{\n  "events": ['),
    (["describe", "--markdown", "statistics"], 0, "| statistic | kind | unit |"),
    (["doctor", "sh"], 0, "sh can be limited\n  file "),
    (["doctor", "--", "sh", "-c", "x"], 0, "sh can be limited\n"),
    (["doctor", "sh", "-c", "x"], 0, "sh can be limited\n"),
    (["doctor", "no-such-program"], 1, "no-such-program cannot be limited: it is not found"),
    (["doctor", "/etc/passwd"], 1, "/etc/passwd cannot be limited: it is not an executable file"),
]

failures = []


def run(arguments):
    return subprocess.run([ALLOT, *arguments], capture_output=True, text=True, timeout=60)


def check(arguments, fine, result):
    if not fine:
        failures.append(f"allot {' '.join(arguments)}: status {result.returncode}\n{result.stdout}{result.stderr}")


for arguments, expected in USAGE:
    result = run(arguments)
    fine = (result.returncode == 2 and result.stdout == "" and result.stderr.startswith("allot: " + expected)
            and result.stderr.count("\n") == 1)
    check(arguments, fine, result)

for arguments, status, expected in ANSWERS:
    result = run(arguments)
    check(arguments, result.returncode == status and result.stdout.startswith(expected) and result.stderr == "", result)

print("\n".join(failures) or f"{len(USAGE) + len(ANSWERS)} cases")
sys.exit(1 if failures else 0)
