// `allot top`: a live view of a hierarchy, or with -b the same as plain text.
#include "tools/command_arguments.hpp"
#include "tools/commands.hpp"
#include "tools/text_table.hpp"
#include "tools/top_table.hpp"

#include <algorithm>
#include <chrono>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <thread>
#include <unistd.h>

#include <curses.h>

namespace allot {

namespace {

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The signal that asks to end. Written by the handler, read by the loop, which restores the terminal and then ends by it.
volatile std::sig_atomic_t asked_to_end = 0;

void note_end(int signal) { asked_to_end = signal; }

constexpr int signals_that_end[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// The terminal, from its first screen to its last; curses restores what it found, and sees to SIGTSTP and SIGWINCH.
class screen {
public:
    screen() {
        (void)std::setlocale(LC_ALL, "");
        if (newterm(nullptr, stdout, stdin) == nullptr)
            throw failure("this terminal is not known (TERM); allot top -b needs none");
        // Behind curses' own, which end the program in the handler.
        struct sigaction action {};
        action.sa_handler = note_end;
        for (const int signal : signals_that_end) (void)sigaction(signal, &action, nullptr);
        (void)cbreak();
        (void)noecho();
        (void)keypad(stdscr, TRUE);
        (void)curs_set(0);
    }
    ~screen() { (void)endwin(); }
    screen(const screen &) = delete;
    screen &operator=(const screen &) = delete;

    void draw(const std::vector<std::string> &above, const std::vector<std::string> &lines, std::size_t first) {
        (void)erase();
        int y = 0;
        for (const std::string &line : above) put(y++, line, A_NORMAL);
        if (!lines.empty()) put(y++, lines.front(), A_REVERSE);
        for (std::size_t i = 1 + first; i < lines.size() && y < LINES; ++i) put(y++, lines[i], A_NORMAL);
        (void)refresh();
    }

private:
    static void put(int y, const std::string &line, attr_t attributes) {
        if (y >= LINES || COLS <= 0) return;
        const std::string text = fitted(line, static_cast<std::size_t>(COLS));
        (void)attrset(static_cast<int>(attributes));
        (void)mvaddstr(y, 0, text.c_str());
        (void)attrset(A_NORMAL);
    }
};

class live_view {
public:
    live_view(const hierarchy_choice &choice, const std::string &path, double delay, long rounds)
        : choice_(choice), path_(path), delay_(delay), rounds_(rounds) {
        look();
    }

    void run() {
        screen terminal;
        double next = seconds_now() + delay_;
        while (asked_to_end == 0) {
            show(terminal);
            const double wait = next - seconds_now();
            timeout(std::clamp(static_cast<int>(wait * 1000), 0, 100)); // a signal between two looks is seen soon
            const int key = getch();
            if (key == 'q' || key == 'Q') return;
            if (key != ERR) handle(key);
            if (key == ' ' || seconds_now() >= next) {
                if (rounds_ > 0 && --rounds_ == 0) return;
                try {
                    look();
                } catch (const failure &) {
                    return; // it has gone
                }
                next = seconds_now() + delay_;
            }
        }
    }

private:
    static constexpr int lines_above = 2; // and the headings

    void look() { table_.look(view_of(choice_), path_, seconds_now()); }

    std::size_t page() const { return static_cast<std::size_t>(std::max(LINES - lines_above - 1, 1)); }

    void show(screen &terminal) {
        const std::vector<std::string> lines = top_lines(table_.rows(settings_), settings_, table_.top());
        const std::size_t count = lines.size() - 1;
        first_ = std::min(first_, count > page() ? count - page() : 0);
        const std::string place =
            count > page() ? fmt::format("  [{}-{} of {}]", first_ + 1, std::min(first_ + page(), count), count) : "";
        terminal.draw({table_.summary(choice_.name) + place,
                       "sort: n name  c current  p peak  m %max  e events  r rate   t tree  q quit"},
                      lines, first_);
    }

    void sort_by(top_order order) {
        settings_.reversed = settings_.order == order && !settings_.reversed;
        settings_.order = order;
        first_ = 0;
    }

    void handle(int key) {
        switch (key) {
        case 'n': return sort_by(top_order::name);
        case 'c': return sort_by(top_order::current);
        case 'p': return sort_by(top_order::peak);
        case 'm': return sort_by(top_order::percent);
        case 'e': return sort_by(top_order::events);
        case 'r': return sort_by(top_order::rate);
        case 't': settings_.as_tree = !settings_.as_tree, first_ = 0; return;
        case KEY_DOWN: ++first_; return;
        case KEY_UP: first_ -= first_ != 0 ? 1 : 0; return;
        case KEY_NPAGE: first_ += page(); return;
        case KEY_PPAGE: first_ -= std::min(first_, page()); return;
        case KEY_HOME: first_ = 0; return;
        case KEY_END: first_ = table_.rows(settings_).size(); return;
        default: return; // KEY_RESIZE: it is drawn anew
        }
    }

    hierarchy_choice choice_;
    std::string path_;
    double delay_;
    long rounds_;
    top_table table_;
    top_settings settings_;
    std::size_t first_ = 0;
};

int run_plainly(const hierarchy_choice &choice, const std::string &path, const top_settings &settings, double delay,
                long rounds) {
    top_table table;
    for (long round = 0; rounds == 0 || round < rounds; ++round) {
        if (round != 0) {
            std::this_thread::sleep_for(std::chrono::duration<double>(delay));
            std::cout << "\n";
        }
        try {
            table.look(view_of(choice), path, seconds_now());
        } catch (const failure &) {
            if (round == 0) throw;
            return exit_done; // it has gone
        }
        std::cout << table.summary(choice.name) << "\n";
        for (const std::string &line : top_lines(table.rows(settings), settings, path)) std::cout << line << "\n";
        if (!std::cout.flush()) return exit_done;
    }
    return exit_done;
}

} // namespace

int top_command(std::vector<std::string> arguments) {
    hierarchy_arguments given("Shows live what the tenants of a hierarchy use.", "allot top", top_synopsis);
    bool plain = false;
    long rounds = 0;
    double delay = 1;
    given.app.add_flag("-b,--batch", plain, "Plain text, no keys; also where the output is no terminal");
    given.app.add_option("-n", rounds, "End after so many looks (default: never; plain text into a file: 1)")
        ->type_name("N")
        ->check([](const std::string &text) {
            const bool is_count = !text.empty() && text.size() < 10 && text != "0" &&
                                  text.find_first_not_of("0123456789") == std::string::npos;
            return is_count ? std::string() : fmt::format("'{}': expected a number, 1 or more", text);
        });
    given.app.add_option("-d", delay, "Time between two looks (default 1)")->type_name("SECONDS")->check(check_seconds);
    given.take_path(hierarchy_arguments::path_is::optional);
    if (!given.read(arguments)) return exit_done;
    complete(given.choice);
    const bool has_terminal = isatty(STDOUT_FILENO) == 1 && isatty(STDIN_FILENO) == 1;
    if (plain || !has_terminal) {
        if (!plain && rounds == 0) rounds = 1;
        return run_plainly(given.choice, given.path, {}, delay, rounds);
    }
    live_view(given.choice, given.path, delay, rounds).run();
    if (asked_to_end != 0) {
        (void)std::signal(asked_to_end, SIG_DFL);
        (void)std::raise(asked_to_end);
    }
    return exit_done;
}

} // namespace allot
