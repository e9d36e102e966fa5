// `allot watch`: events as they happen.
#include "accounting/tables.hpp"
#include "tools/command_arguments.hpp"
#include "tools/commands.hpp"
#include "tools/event_differences.hpp"
#include "tools/hierarchy_view.hpp"
#include "tools/text_table.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace allot {

namespace {

using clock = std::chrono::system_clock;

double seconds_now() { return std::chrono::duration<double>(clock::now().time_since_epoch()).count(); }

std::string time_text() {
    const auto now = clock::now().time_since_epoch();
    const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(now).count();
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now).count() % 1000;
    std::tm local{};
    localtime_r(&seconds, &local);
    char text[32];
    (void)std::strftime(text, sizeof text, "%F %T", &local);
    return fmt::format("{}.{:03}", text, milliseconds);
}

std::string line_of(const event_difference &d, bool json) {
    const char *event = event_table[d.event].name;
    if (!json) return fmt::format("{} {} {} +{} ({})\n", time_text(), shown(d.tenant), event, d.count, d.total);
    const nlohmann::ordered_json line = {
        {"time", seconds_now()}, {"tenant", d.tenant}, {"event", event}, {"count", d.count}, {"total", d.total}};
    return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// The file's inode; 0: it is gone. A hierarchy that was made anew under the same name is another one.
ino_t file_number(const hierarchy_choice &choice) {
    struct stat st;
    const std::string path = choice.dir + "/" + choice.name + "/" + shared::file_name;
    return stat(path.c_str(), &st) == 0 ? st.st_ino : 0;
}

// False: nobody reads any more.
bool write_whole(const std::string &text) {
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t n = write(STDOUT_FILENO, text.data() + done, text.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        done += static_cast<std::size_t>(n);
    }
    return true;
}

} // namespace

int watch_command(std::vector<std::string> arguments) {
    hierarchy_arguments given(
        "Prints events of a tenant and those below it as they happen, until the hierarchy goes away.", "allot watch",
        watch_synopsis);
    bool json = false;
    double interval = 0.2;
    given.app.add_flag("--json", json, "A JSON object a line");
    given.app.add_option("--interval", interval, "How often to look (default 0.2)")
        ->type_name("SECONDS")
        ->check(check_seconds);
    given.take_path(hierarchy_arguments::path_is::optional);
    if (!given.read(arguments)) return exit_done;
    complete(given.choice);
    const ino_t file = file_number(given.choice);
    event_counts counts;
    for (bool is_first = true;; is_first = false) {
        std::vector<tenant_figures> tenants;
        try {
            tenants = view_as_it_is(given.choice).tenants;
            if (is_first) tenants = subtree_of(std::move(tenants), given.path);
        } catch (const failure &) {
            if (is_first) throw;
            return exit_done;
        }
        // The tenant itself may go and come back.
        std::erase_if(tenants, [&](const auto &t) { return !is_at_or_below(t.path, given.path); });
        std::string text;
        for (const event_difference &d : counts.look(tenants)) text += line_of(d, json);
        if (!write_whole(text)) return exit_done;
        if (file_number(given.choice) != file) return exit_done;
        std::this_thread::sleep_for(std::chrono::duration<double>(interval));
    }
}

} // namespace allot
