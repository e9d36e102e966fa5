#include "tools/elf_file.hpp"

#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace allot {
namespace {

#if defined(__x86_64__)
constexpr unsigned own_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned own_machine = EM_AARCH64;
#endif

// A read-only mapping of a whole file.
class mapped_file {
public:
    explicit mapped_file(const std::string &path) {
        const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0) return;
        struct stat st;
        if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
            void *p = mmap(nullptr, static_cast<std::size_t>(st.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
            if (p != MAP_FAILED) {
                data_ = static_cast<const char *>(p);
                size_ = static_cast<std::size_t>(st.st_size);
            }
        }
        close(fd);
    }
    ~mapped_file() {
        if (data_ != nullptr) munmap(const_cast<char *>(data_), size_);
    }
    mapped_file(const mapped_file &) = delete;
    mapped_file &operator=(const mapped_file &) = delete;

    std::size_t size() const { return size_; }
    bool has(std::uint64_t offset, std::uint64_t bytes) const { return offset <= size_ && bytes <= size_ - offset; }

    // A copy of what lies there, or zeros where the file does not reach. Copied since nothing aligns it.
    template<typename T>
    T at(std::uint64_t offset) const {
        T value{};
        if (has(offset, sizeof value)) std::memcpy(&value, data_ + offset, sizeof value);
        return value;
    }

    // The string that begins there, ended by a zero within `limit` bytes; else empty.
    std::string text(std::uint64_t offset, std::uint64_t limit) const {
        if (!has(offset, 1)) return {};
        const std::size_t most = std::min<std::uint64_t>(limit, size_ - offset);
        const std::size_t length = strnlen(data_ + offset, most);
        return length == most ? std::string() : std::string(data_ + offset, length);
    }

private:
    const char *data_ = nullptr;
    std::size_t size_ = 0;
};

constexpr std::uint64_t longest_text = 4096;

// The k-th entry of a table in the file.
template<typename T>
T entry(const mapped_file &file, std::uint64_t table, std::uint64_t k) {
    return file.at<T>(table + k * sizeof(T));
}

void read_segments(const mapped_file &file, const Elf64_Ehdr &header, elf_facts &facts) {
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        const auto segment = entry<Elf64_Phdr>(file, header.e_phoff, i);
        if (segment.p_type == PT_INTERP) facts.interpreter = file.text(segment.p_offset, segment.p_filesz + 1);
        if (segment.p_type == PT_DYNAMIC) facts.has_dynamic_section = true;
    }
}

void read_symbols(const mapped_file &file, const Elf64_Shdr &table, const Elf64_Shdr &strings, elf_facts &facts) {
    if (!file.has(table.sh_offset, table.sh_size)) return;
    for (std::uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
        const auto symbol = entry<Elf64_Sym>(file, table.sh_offset, i);
        const unsigned kind = ELF64_ST_TYPE(symbol.st_info);
        if (symbol.st_shndx == SHN_UNDEF || (kind != STT_FUNC && kind != STT_GNU_IFUNC)) continue;
        if (file.text(strings.sh_offset + symbol.st_name, sizeof "malloc") == "malloc") facts.defines_malloc = true;
    }
}

void read_needed(const mapped_file &file, const Elf64_Shdr &dynamic, const Elf64_Shdr &strings, elf_facts &facts) {
    if (!file.has(dynamic.sh_offset, dynamic.sh_size)) return;
    for (std::uint64_t i = 0; i < dynamic.sh_size / sizeof(Elf64_Dyn); ++i) {
        const auto d = entry<Elf64_Dyn>(file, dynamic.sh_offset, i);
        if (d.d_tag == DT_NEEDED) facts.needed.push_back(file.text(strings.sh_offset + d.d_un.d_val, longest_text));
    }
}

void read_sections(const mapped_file &file, const Elf64_Ehdr &header, elf_facts &facts) {
    const auto names = entry<Elf64_Shdr>(file, header.e_shoff, header.e_shstrndx);
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        const auto section = entry<Elf64_Shdr>(file, header.e_shoff, i);
        const auto strings = entry<Elf64_Shdr>(file, header.e_shoff, section.sh_link);
        if (section.sh_type == SHT_DYNSYM || section.sh_type == SHT_SYMTAB) read_symbols(file, section, strings, facts);
        if (section.sh_type == SHT_DYNAMIC) read_needed(file, section, strings, facts);
        const std::string name = file.text(names.sh_offset + section.sh_name, longest_text);
        if (name == ".go.buildinfo" || name == ".note.go.buildid") facts.is_go = true;
    }
}

} // namespace

std::optional<elf_facts> read_elf(const std::string &path) {
    const mapped_file file(path);
    const auto header = file.at<Elf64_Ehdr>(0);
    // A 32-bit header is shorter; class and machine lie at the same place in both.
    const auto short_header = file.at<Elf32_Ehdr>(0);
    if (std::memcmp(short_header.e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
    elf_facts facts;
    facts.bits = short_header.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
    facts.machine = short_header.e_machine;
    facts.same_kind = facts.bits == 64 && facts.machine == own_machine && short_header.e_ident[EI_DATA] == ELFDATA2LSB;
    if (!facts.same_kind) return facts;
    read_segments(file, header, facts);
    read_sections(file, header, facts);
    return facts;
}

std::string machine_name(unsigned machine) {
    switch (machine) {
    case EM_X86_64: return "x86-64";
    case EM_386: return "i386";
    case EM_AARCH64: return "AArch64";
    case EM_ARM: return "ARM";
    case EM_RISCV: return "RISC-V";
    case EM_PPC64: return "PowerPC64";
    case EM_S390: return "S/390";
    default: return fmt::format("machine {}", machine);
    }
}

} // namespace allot
