#include "accounting/option_lists.hpp"

#include "accounting/sizes.hpp"
#include "accounting/text.hpp"

namespace allot {
namespace {

// A piece of a text; not terminated.
struct piece {
    const char *at;
    std::size_t length;

    bool empty() const { return length == 0; }
    // Where the first `c` is, or length when there is none.
    std::size_t find(char c) const {
        std::size_t n = 0;
        while (n < length && at[n] != c) ++n;
        return n;
    }
    piece before(std::size_t n) const { return {at, n}; }
    piece after(std::size_t n) const { return n >= length ? piece{at + length, 0} : piece{at + n + 1, length - n - 1}; }
    bool is(const char *word) const {
        for (std::size_t i = 0; i < length; ++i)
            if (word[i] == '\0' || word[i] != at[i]) return false;
        return word[length] == '\0';
    }
};

// Cuts the first item off `rest`, at `separator`.
piece next_item(piece &rest, char separator) {
    const std::size_t n = rest.find(separator);
    const piece item = rest.before(n);
    rest = rest.after(n);
    return item;
}

std::size_t count_items(piece text, char separator) {
    std::size_t n = 1;
    for (std::size_t i = 0; i < text.length; ++i) n += text.at[i] == separator;
    return n;
}

bool kind_of(piece word, map_kind &kind) {
    if (word.is("thread"))
        kind = map_kind::thread;
    else if (word.is("exe"))
        kind = map_kind::exe;
    else if (word.is("lib"))
        kind = map_kind::lib;
    else
        return false;
    return true;
}

struct parsed_rule {
    map_kind kind;
    piece glob;
    piece path;
    const char *error;
};

parsed_rule read_rule(piece text) {
    parsed_rule r{};
    const std::size_t colon = text.find(':');
    if (!kind_of(text.before(colon), r.kind) || colon == text.length) {
        r.error = "a rule is thread:GLOB=PATH, exe:GLOB=PATH or lib:GLOB=PATH";
        return r;
    }
    const piece rest = text.after(colon);
    const std::size_t equals = rest.find('=');
    r.glob = rest.before(equals);
    r.path = rest.after(equals);
    if (r.glob.empty() || equals == rest.length)
        r.error = "a rule needs a name or pattern, = and a tenant's path";
    else if (!is_tenant_path(r.path.at, r.path.length))
        r.error = "a tenant's path is / or names such as /web/api";
    return r;
}

// The limits a tree may set, and a policy: what a file of that name accepts.
const char *setting_error(piece file, piece value) {
    if (file.is("memory.oom.policy")) {
        const bool is_policy = value.is("fail") || value.is("kill") || value.is("abort") || value.is("inherit");
        return is_policy ? nullptr : "memory.oom.policy is fail, kill, abort or inherit";
    }
    if (file.is("memory.oom.group")) return value.is("0") || value.is("1") ? nullptr : "memory.oom.group is 0 or 1";
    if (file.is("memory.throttle")) {
        const bool is_choice = value.is("0") || value.is("1") || value.is("inherit");
        return is_choice ? nullptr : "memory.throttle is 0, 1 or inherit";
    }
    const bool is_size = file.is("memory.max") || file.is("memory.high") || file.is("memory.low") ||
                         file.is("memory.min") || file.is("memory.headroom");
    if (!is_size)
        return "a tree sets memory.max, memory.high, memory.low, memory.min, memory.headroom, memory.oom.policy, "
               "memory.oom.group or memory.throttle";
    // Any base will do to see whether a percentage is well formed.
    const size_error error = size_parse(value.at, value.length, page_bytes).error;
    return error == size_error::none ? nullptr : size_error_hint(error);
}

const char *tree_error(piece item) {
    const piece path = next_item(item, ' ');
    if (!is_tenant_path(path.at, path.length)) return "a tenant's path is / or names such as /web/api";
    while (!item.empty()) {
        const piece setting = next_item(item, ' ');
        if (setting.empty()) continue;
        const std::size_t equals = setting.find('=');
        if (equals == setting.length) return "a tenant's setting is FILE=VALUE";
        if (const char *why = setting_error(setting.before(equals), setting.after(equals))) return why;
    }
    return nullptr;
}

const char *copied(text_arena &arena, piece p) {
    const char *text = arena.copy(p.at, p.length);
    return text == nullptr ? "" : text;
}

constexpr char no_memory[] = "there is no memory for it";

} // namespace

bool is_tenant_path(const char *path, std::size_t length) {
    constexpr std::size_t longest_name = 63;
    if (length == 0 || path[0] != '/') return false;
    if (length == 1) return true;
    piece rest{path + 1, length - 1};
    while (true) {
        const std::size_t slash = rest.find('/');
        const piece name = rest.before(slash);
        if (name.empty() || name.length > longest_name || name.is(".") || name.is("..")) return false;
        if (name.find('\n') != name.length) return false;
        if (slash == rest.length) return true;
        rest = rest.after(slash);
    }
}

bool is_tenant_path(const char *path) { return is_tenant_path(path, text_length(path)); }

const char *map_rule_error(const char *text, std::size_t length) { return read_rule({text, length}).error; }

const char *exclude_error(const char *text, std::size_t length) {
    const piece p{text, length};
    if (p.empty()) return "a program's file name is not empty";
    return p.find('/') == length ? nullptr : "a program is named by its file name, without a path";
}

const char *tree_item_error(const char *text, std::size_t length) { return tree_error({text, length}); }

void parse_map(const char *text, std::size_t length, text_arena &arena, options &out, list_errors errors) {
    piece rest{text, length};
    auto *rules = static_cast<map_rule *>(arena.allocate(count_items(rest, ';') * sizeof(map_rule)));
    if (rules == nullptr) return errors.add(errors.state, text, length, no_memory);
    std::uint32_t n = 0;
    while (!rest.empty()) {
        const piece item = next_item(rest, ';');
        if (item.empty()) continue;
        const parsed_rule r = read_rule(item);
        if (r.error != nullptr)
            errors.add(errors.state, item.at, item.length, r.error);
        else
            rules[n++] = {r.kind, copied(arena, r.glob), copied(arena, r.path)};
    }
    out.map = rules;
    out.nr_map = n;
}

void parse_exclude(const char *text, std::size_t length, text_arena &arena, options &out, list_errors errors) {
    piece rest{text, length};
    auto **names = static_cast<const char **>(arena.allocate(count_items(rest, ';') * sizeof(const char *)));
    if (names == nullptr) return errors.add(errors.state, text, length, no_memory);
    std::uint32_t n = 0;
    while (!rest.empty()) {
        const piece item = next_item(rest, ';');
        if (item.empty()) continue;
        const char *why = exclude_error(item.at, item.length);
        if (why != nullptr)
            errors.add(errors.state, item.at, item.length, why);
        else
            names[n++] = copied(arena, item);
    }
    out.exclude = names;
    out.nr_exclude = n;
}

void parse_tree(const char *text, std::size_t length, text_arena &arena, options &out, list_errors errors) {
    piece rest{text, length};
    // Each setting stands behind a space, and each tenant without one makes an entry too.
    const std::size_t most = count_items(rest, ';') + count_items(rest, ' ');
    auto *settings = static_cast<tree_setting *>(arena.allocate(most * sizeof(tree_setting)));
    if (settings == nullptr) return errors.add(errors.state, text, length, no_memory);
    std::uint32_t n = 0;
    while (!rest.empty()) {
        piece item = next_item(rest, ';');
        if (item.empty()) continue;
        if (const char *why = tree_error(item)) {
            errors.add(errors.state, item.at, item.length, why);
            continue;
        }
        const char *path = copied(arena, next_item(item, ' '));
        const std::uint32_t before = n;
        while (!item.empty()) {
            const piece setting = next_item(item, ' ');
            if (setting.empty()) continue;
            const std::size_t equals = setting.find('=');
            settings[n++] = {path, copied(arena, setting.before(equals)), copied(arena, setting.after(equals))};
        }
        if (n == before) settings[n++] = {path, "", ""};
    }
    out.tree = settings;
    out.nr_tree = n;
}

} // namespace allot
