"""g++ and, where it is, clang++: the object files of a program full of templates must be equal to the byte."""
import hashlib
import shutil

import preloaded

SOURCE = r"""
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <vector>
int main() {
    std::map<std::string, std::vector<int>> words;
    std::regex word("[a-z]+");
    std::string text = "the quick brown fox jumps over the lazy dog and the cat";
    int place = 0;
    for (std::sregex_iterator i(text.begin(), text.end(), word), end; i != end; ++i) words[i->str()].push_back(place++);
    for (auto &[key, places] : words) std::cout << key << ' ' << places.size() << '\n';
}
"""


def work(runner):
    source = runner.file("words.cpp", SOURCE)
    results = []
    for compiler in ("g++", "clang++"):
        if not shutil.which(compiler):
            continue
        said = runner.run(compiler, "-std=c++17", "-O2", "-c", source.name, "-o", f"{compiler}.o")
        results.append((compiler, said, hashlib.sha256((runner.scratch / f"{compiler}.o").read_bytes()).hexdigest()))
        runner.run(compiler, f"{compiler}.o", "-o", f"{compiler}.out")
        results.append(runner.run(f"./{compiler}.out"))
    return results


preloaded.compare(work, needs=["g++"])
