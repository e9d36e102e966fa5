#include "tools/tree_file.hpp"

#include "accounting/option_lists.hpp"
#include "tools/errors.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

namespace allot {
namespace {

constexpr std::size_t tree_file_bytes_max = 1 << 20; // so that a device, or the wrong file, is not read for ever

struct place {
    std::string file;
    // "shop.toml:3: what is wrong"
    [[noreturn]] void refuse(const toml::source_region &at, const std::string &what) const {
        throw usage_error(fmt::format("{}:{}: {}", file, at.begin.line, what));
    }
};

// A value as a write to the file of that name would be.
std::string value_text(const toml::node &node, const std::string &key, const place &where) {
    if (const auto *text = node.as_string()) return text->get();
    if (const auto *number = node.as_integer()) return std::to_string(number->get());
    where.refuse(node.source(), fmt::format("{}: expected a string or an integer", key));
}

struct setting {
    std::string name, value;
    toml::source_region at;
};
using settings = std::vector<setting>;

// Dotted keys make tables in tables: memory.max = 1 and "memory.max" = 1 are the same setting.
void collect(const toml::table &table, const std::string &prefix, const place &where, settings &out) {
    for (const auto &[key, node] : table) {
        const std::string name = prefix + std::string(key.str());
        if (const auto *inner = node.as_table())
            collect(*inner, name + ".", where, out);
        else
            out.push_back({name, value_text(node, name, where), node.source()});
    }
}

std::string item_of(const std::string &path, const toml::node &node, const place &where) {
    if (path.find_first_of(" ;=") != std::string::npos)
        where.refuse(node.source(), fmt::format("{}: a tenant's name in a tree has no space, ; or =", path));
    const auto *table = node.as_table();
    if (table == nullptr)
        where.refuse(node.source(),
                     fmt::format("{}: expected a section such as [\"/web/api\"] with settings in it", path));
    settings found;
    collect(*table, "", where, found);
    std::string item = path;
    if (const char *why = tree_item_error(item.data(), item.size()))
        where.refuse(node.source(), fmt::format("{}: {}", path, why));
    for (const auto &[name, value, at] : found) {
        // Sums may be written with spaces, which separate settings in the flat text.
        std::string packed = value;
        std::erase_if(packed, [](char c) { return c == ' ' || c == '\t' || c == '\n'; });
        const std::string one = fmt::format("{} {}={}", path, name, packed);
        const char *why =
            packed.find(';') != std::string::npos ? "a value has no ;" : tree_item_error(one.data(), one.size());
        if (why != nullptr) where.refuse(at, fmt::format("{}: {} = {}: {}", path, name, value, why));
        item += fmt::format(" {}={}", name, packed);
    }
    return item;
}

} // namespace

std::string tree_option_of(const std::string &text, const std::string &file_name) {
    const place where{file_name};
    toml::table root;
    try {
        root = toml::parse(text, file_name);
    } catch (const toml::parse_error &error) {
        where.refuse(error.source(), std::string(error.description()));
    }
    std::vector<std::string> items;
    for (const auto &[key, node] : root) items.push_back(item_of(std::string(key.str()), node, where));
    // A path sorts behind each of its prefixes, so that parents come first.
    std::sort(items.begin(), items.end());
    return fmt::format("{}", fmt::join(items, ";"));
}

std::string read_tree_file(const std::string &file_name) {
    std::error_code ignored;
    std::ifstream in(file_name); // also of a pipe, as in --tree <(COMMAND)
    if (!in || std::filesystem::is_directory(file_name, ignored))
        throw usage_error(fmt::format("--tree: {}: cannot be read; expected a TOML file", file_name));
    std::string text(tree_file_bytes_max + 1, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
    if (text.size() > tree_file_bytes_max)
        throw usage_error(
            fmt::format("--tree: {}: has more than {} bytes; expected a TOML file", file_name, tree_file_bytes_max));
    return tree_option_of(text, file_name);
}

} // namespace allot
