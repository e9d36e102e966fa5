#include "tools/preload_library.hpp"

#include "tools/errors.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace allot {
namespace {

namespace fs = std::filesystem;

constexpr char library_name[] = "liballot-preload.so";

// From the folder of the executable: a build tree; installed in bin/ with the library in lib/, Debian's way included.
constexpr const char *places[] = {"../preload", "../lib", "../lib/allot", "../lib/x86_64-linux-gnu", "../lib64", "."};

// ld.so takes both as separators and knows no way to quote them.
std::string checked(const std::string &library) {
    if (library.find_first_of(" :") != std::string::npos)
        throw failure(fmt::format("{}: a path with a space or a colon cannot be preloaded", library));
    return library;
}

} // namespace

std::string preload_library_beside(const std::string &folder) {
    for (const char *place : places) {
        const fs::path path = fs::path(folder) / place / library_name;
        std::error_code ignored;
        if (fs::is_regular_file(path, ignored)) return fs::weakly_canonical(path, ignored).string();
    }
    return {};
}

std::string find_preload_library() {
    if (const char *given = getenv("ALLOT_PRELOAD_LIBRARY"); given != nullptr && *given != '\0') {
        if (access(given, R_OK) != 0) throw failure(fmt::format("ALLOT_PRELOAD_LIBRARY: {} cannot be read", given));
        return checked(fs::absolute(given).string());
    }
    std::error_code error;
    const fs::path executable = fs::read_symlink("/proc/self/exe", error);
    const std::string folder = error ? "." : executable.parent_path().string();
    const std::string library = preload_library_beside(folder);
    if (library.empty())
        throw failure(fmt::format("{} is neither in {}/../preload nor in {}/../lib; ALLOT_PRELOAD_LIBRARY can name it",
                                  library_name, folder, folder));
    return checked(library);
}

std::string preload_first(const std::string &library, const std::string &existing) {
    std::string value = library;
    std::size_t at = 0;
    while (at < existing.size()) {
        const std::size_t end = std::min(existing.find_first_of(" :", at), existing.size());
        const std::string other = existing.substr(at, end - at);
        if (!other.empty() && other != library) value += ":" + other;
        at = end + 1;
    }
    return value;
}

} // namespace allot
