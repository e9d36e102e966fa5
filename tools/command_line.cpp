#include "tools/command_line.hpp"

#include "accounting/nearest.hpp"
#include "accounting/options.hpp"
#include "accounting/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

namespace allot {

namespace {

class formatter_with_synopsis : public CLI::Formatter {
public:
    explicit formatter_with_synopsis(const char *synopsis) : synopsis_(synopsis) {}
    std::string make_usage(const CLI::App *, std::string) const override {
        return fmt::format("Usage: {}\n", synopsis_);
    }

private:
    const char *synopsis_;
};

} // namespace

void set_synopsis(CLI::App &app, const char *synopsis) {
    app.formatter(std::make_shared<formatter_with_synopsis>(synopsis));
}

bool parse_arguments(CLI::App &app, const std::vector<std::string> &arguments) {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend()); // as the library wants them
    try {
        app.parse(reversed);
    } catch (const CLI::CallForHelp &) {
        std::cout << app.help();
        return true;
    } catch (const CLI::ParseError &error) {
        throw usage_error(error.what());
    }
    return false;
}

void refuse_remaining(const CLI::App &app) {
    const std::vector<std::string> words = app.remaining();
    if (words.empty()) return;
    if (words.front().starts_with('-')) throw usage_error(unknown_option(app, words.front()));
    throw usage_error(fmt::format("{}: {} takes no such argument", words.front(), app.get_name()));
}

std::string unknown_option(const CLI::App &app, const std::string &word) {
    std::vector<std::string> names;
    for (const CLI::Option *option : app.get_options())
        for (const std::string &name : option->get_lnames()) names.push_back("--" + name);
    const std::string name = word.substr(0, word.find('='));
    return fmt::format("{}: no such option of {}; did you mean {}?", name, app.get_name(), nearest_of(name, names));
}

std::string nearest_of(const std::string &word, const std::vector<std::string> &words) {
    const auto distance = [&word](const std::string &other) {
        return edit_distance(word.data(), word.size(), other.data(), other.size());
    };
    return *std::min_element(words.begin(), words.end(),
                             [&](const auto &a, const auto &b) { return distance(a) < distance(b); });
}

std::string check_size(const std::string &text) {
    // Any base will do to see whether a percentage is well formed; it is taken of RAM or of a parent later.
    const size_error error = size_parse(text.c_str(), text.size(), page_bytes).error;
    if (error == size_error::none) return {};
    return fmt::format("'{}': {}; expected {}", text, size_error_hint(error), size_expected);
}

std::string check_tenant(const std::string &text) {
    if (is_tenant_path(text.c_str())) return {};
    return fmt::format("'{}': expected / or names of at most 63 bytes, such as /web/api", text);
}

} // namespace allot
