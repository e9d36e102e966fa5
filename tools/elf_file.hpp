// What an ELF file says about itself, as far as it decides whether a library can be preloaded into it.
//
// It exists because the loader says nothing when it ignores LD_PRELOAD; reading the file does.
//
// Threads: pure functions. Owner: values.
// Invariants: 1. Any bytes may be in the file: every offset is checked before it is followed.
// Cost: the file is mapped; the symbol tables are walked once.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace allot {

struct elf_facts {
    unsigned bits = 0;    // 32 or 64
    unsigned machine = 0; // EM_...; what follows is read only of the kind this program itself is
    bool same_kind = false;
    std::string interpreter; // of a dynamic program; empty: static
    std::vector<std::string> needed;
    bool has_dynamic_section = false;
    bool defines_malloc = false; // in the program itself, exported or not
    bool is_go = false;
};

// nullopt: not an ELF file, or not readable. A file that is cut or inconsistent gives what can be read of it.
[[nodiscard]] std::optional<elf_facts> read_elf(const std::string &path);

// "x86-64", "i386", "AArch64", or "machine 123".
[[nodiscard]] std::string machine_name(unsigned machine);

} // namespace allot
