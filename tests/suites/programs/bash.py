"""bash: arrays, subshells, pipelines, here documents, substitutions; thousands of forks that inherit the heap."""
import preloaded

SCRIPT = r"""
declare -A count
for i in {1..20000}; do word="w$((i * 7919 % 997))"; count[$word]=$((${count[$word]:-0} + i)); done
for key in $(printf '%s\n' "${!count[@]}" | sort | head -20); do echo "$key=${count[$key]}"; done
text=$(for i in {1..3000}; do printf 'line %d of text\n' "$i"; done)
echo "${#text} ${text//line/LINE}" | cksum
for i in {1..200}; do x=$(echo "$i" | cat); total=$((total + x)); done; echo "$total"
while read -r a b; do echo "$b-$a"; done <<END
one two
three four
END
f() { if (($1 > 0)); then f $(($1 - 1)); else echo deep; fi; }; f 500
(trap 'echo left' EXIT; exit 3); echo "$?"
"""


def work(runner):
    return runner.run("bash", "-c", SCRIPT)


preloaded.compare(work, needs=["bash", "cksum"])
