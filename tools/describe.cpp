#include "tools/describe.hpp"

#include "accounting/tables.hpp"
#include "tools/command_line.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>
#include <iterator>

namespace allot {
namespace {

// A table as rows of words. Each descriptor array is turned into one; each format is a loop over them.
struct sheet {
    std::string name;
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> rows;
};

std::string version_of(std::uint32_t since) { return fmt::format("0.{}", since); }

sheet options_sheet() {
    sheet s{"options", {"option", "variable", "value", "default", "since", "meaning"}, {}};
    for (std::size_t i = 0; i < std::size(option_table); ++i) {
        const option_descriptor &d = option_table[i];
        s.rows.push_back({d.name, d.variable, d.form, d.default_text, version_of(d.since), option_help[i]});
    }
    return s;
}

sheet statistics_sheet() {
    sheet s{"statistics", {"statistic", "kind", "unit", "since", "meaning"}, {}};
    for (std::size_t i = 0; i < std::size(stat_table); ++i) {
        const stat_descriptor &d = stat_table[i];
        s.rows.push_back({d.name, word_of(d.kind), word_of(d.unit), version_of(d.since), stat_help[i]});
    }
    return s;
}

sheet events_sheet() {
    sheet s{"events", {"event", "since", "meaning"}, {}};
    for (std::size_t i = 0; i < std::size(event_table); ++i)
        s.rows.push_back({event_table[i].name, version_of(event_table[i].since), event_help[i]});
    return s;
}

std::vector<sheet> all_sheets() { return {options_sheet(), statistics_sheet(), events_sheet()}; }

std::string as_markdown(const sheet &s) {
    // The first column and those that hold code are set as code; a bar inside would end the cell.
    const auto cell = [&s](std::size_t column, std::string text) {
        for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
        const bool is_code = column == 0 || s.columns[column] == "variable" || s.columns[column] == "value" ||
                             s.columns[column] == "default";
        return is_code && !text.empty() ? "`" + text + "`" : text;
    };
    std::string out;
    for (const std::string &column : s.columns) out += "| " + column + " ";
    out += "|\n";
    for (std::size_t i = 0; i < s.columns.size(); ++i) out += "|---";
    out += "|\n";
    for (const auto &row : s.rows) {
        for (std::size_t i = 0; i < row.size(); ++i) out += "| " + cell(i, row[i]) + " ";
        out += "|\n";
    }
    return out;
}

std::string as_text(const sheet &s) {
    // All but the last column share a line, aligned; the last, a sentence, stands below.
    std::vector<std::size_t> widths(s.columns.size() - 1, 0);
    for (const auto &row : s.rows)
        for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    std::string out = s.name + "\n";
    for (const auto &row : s.rows) {
        std::string line = " ";
        for (std::size_t i = 0; i < widths.size(); ++i) line += fmt::format(" {:<{}}", row[i], widths[i]);
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n      " + row.back() + "\n";
    }
    return out;
}

nlohmann::ordered_json as_json(const sheet &s) {
    auto list = nlohmann::ordered_json::array();
    for (const auto &row : s.rows) {
        nlohmann::ordered_json entry;
        for (std::size_t i = 0; i < row.size(); ++i) entry[i == 0 ? "name" : s.columns[i]] = row[i];
        list.push_back(entry);
    }
    return list;
}

} // namespace

std::string describe(description_format format, const std::vector<std::string> &tables) {
    std::vector<std::string> names;
    for (const sheet &s : all_sheets()) names.push_back(s.name);
    for (const std::string &table : tables)
        if (std::find(names.begin(), names.end(), table) == names.end())
            throw usage_error(fmt::format("{}: no such table; expected {}", table, fmt::join(names, ", ")));

    std::string out;
    nlohmann::ordered_json json;
    for (const sheet &s : all_sheets()) {
        if (!tables.empty() && std::find(tables.begin(), tables.end(), s.name) == tables.end()) continue;
        if (format == description_format::json) json[s.name] = as_json(s);
        if (format != description_format::json && !out.empty()) out += "\n";
        if (format == description_format::markdown) out += as_markdown(s);
        if (format == description_format::text) out += as_text(s);
    }
    return format == description_format::json ? json.dump(2) + "\n" : out;
}

int describe_command(std::vector<std::string> arguments) {
    CLI::App app("Prints the tables of options, statistics and events.", "allot describe");
    set_synopsis(app, describe_synopsis);
    bool markdown = false;
    bool json = false;
    std::vector<std::string> tables;
    auto *markdown_flag = app.add_flag("--markdown", markdown, "As Markdown tables");
    app.add_flag("--json", json, "As one JSON object")->excludes(markdown_flag);
    app.add_option("TABLE", tables, "options, statistics or events; all when none is named");
    app.allow_extras();
    if (parse_arguments(app, arguments)) return exit_done;
    refuse_remaining(app);
    const auto format = markdown ? description_format::markdown
                        : json   ? description_format::json
                                 : description_format::text;
    std::cout << describe(format, tables);
    return exit_done;
}

} // namespace allot
