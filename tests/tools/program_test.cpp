// Programs are made on the spot by the C compiler, so that what they are does not depend on the distribution.
#define BOOST_TEST_MODULE program
#include <boost/test/unit_test.hpp>

#include "tests/support/scratch.hpp"
#include "tools/program.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

using namespace allot;
namespace fs = std::filesystem;

namespace {

struct scratch : scratch_folder {
    std::string file(const std::string &name, const std::string &text) const {
        std::ofstream(folder / name) << text;
        chmod((folder / name).c_str(), 0755);
        return folder / name;
    }
    std::string compiled(const std::string &name, const std::string &source, const std::string &flags = "") const {
        file("source.c", source);
        const std::string command =
            "cc -o " + (folder / name).string() + " " + (folder / "source.c").string() + " " + flags;
        BOOST_TEST_REQUIRE(std::system(command.c_str()) == 0, command);
        return folder / name;
    }
};

bool is_possible(const program_verdict &v) { return v.is_found == found::yes && v.obstacles.empty(); }

bool says(const program_verdict &v, const std::string &part) {
    for (const std::string &o : v.obstacles)
        if (o.find(part) != std::string::npos) return true;
    return false;
}

constexpr char nothing[] = "int main(void) { return 0; }\n";

} // namespace

BOOST_FIXTURE_TEST_CASE(a_dynamic_program_can_be_limited, scratch) {
    const program_verdict v = judge_program({compiled("plain", nothing)});
    BOOST_TEST(is_possible(v));
    BOOST_TEST(v.chain.size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_static_program_cannot_be_limited, scratch) {
    BOOST_TEST(says(judge_program({compiled("static", nothing, "-static")}), "statically linked"));
    BOOST_TEST(says(judge_program({compiled("static-pie", nothing, "-static-pie")}), "statically linked"));
}

BOOST_FIXTURE_TEST_CASE(a_program_that_exports_malloc_cannot_be_limited, scratch) {
    const std::string own =
        "#include <stddef.h>\nvoid *malloc(size_t n) { (void)n; return 0; }\n" + std::string(nothing);
    BOOST_TEST(says(judge_program({compiled("own", own, "-rdynamic")}), "defines malloc itself"));
}

BOOST_FIXTURE_TEST_CASE(a_missing_library_is_named, scratch) {
    file("library.c", "int answer(void) { return 42; }\n");
    const std::string build = "cd " + folder.string() + " && cc -shared -fPIC -o libanswer.so library.c";
    BOOST_TEST_REQUIRE(std::system(build.c_str()) == 0);
    const std::string path = compiled("needy", "int answer(void); int main(void) { return answer(); }\n",
                                      "-L" + folder.string() + " -lanswer");
    BOOST_TEST(says(judge_program({path}), "libanswer.so it needs is missing"));
}

BOOST_FIXTURE_TEST_CASE(another_loader_is_named, scratch) {
    BOOST_TEST(
        says(judge_program({compiled("musl", nothing, "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1")}), "musl"));
    BOOST_TEST(
        says(judge_program({compiled("odd", nothing, "-Wl,--dynamic-linker=/lib/ld-odd.so")}), "is not glibc's"));
    BOOST_TEST(
        says(judge_program({compiled("gone", nothing, "-Wl,--dynamic-linker=/lib/ld-linux-gone.so.9")}), "is missing"));
}

BOOST_FIXTURE_TEST_CASE(a_script_is_judged_by_its_interpreter, scratch) {
    const std::string program = compiled("static", nothing, "-static");
    const program_verdict v = judge_program({file("script", "#! " + program + " -x\nanything\n")});
    BOOST_TEST(says(v, "statically linked"));
    BOOST_TEST(v.chain.size() == 2U);
    BOOST_TEST(says(judge_program({file("broken", "#!/nowhere/at/all\n")}), "interpreter /nowhere/at/all is missing"));
    BOOST_TEST(judge_program({file("bare", "exit 0\n")}).chain.back() == "/bin/sh");
}

BOOST_FIXTURE_TEST_CASE(a_script_of_env_is_judged_by_what_env_finds, scratch) {
    compiled("static-interpreter", nothing, "-static");
    const std::string path = folder.string() + ":" + getenv("PATH");
    setenv("PATH", path.c_str(), 1);
    BOOST_TEST(says(judge_program({file("one", "#!/usr/bin/env static-interpreter\n")}), "statically linked"));
    BOOST_TEST(
        says(judge_program({file("two", "#!/usr/bin/env -S A=1 static-interpreter -v\n")}), "statically linked"));
    BOOST_TEST(is_possible(judge_program({file("three", "#!/usr/bin/env sh\n")})));
}

BOOST_FIXTURE_TEST_CASE(what_is_missing_or_not_executable_is_told_apart, scratch) {
    BOOST_TEST((judge_program({"/nowhere/at/all"}).is_found == found::no));
    BOOST_TEST((judge_program({"no-such-program-anywhere"}).is_found == found::no));
    const std::string text = file("text", "hello\n");
    chmod(text.c_str(), 0644);
    BOOST_TEST((judge_program({text}).is_found == found::not_executable));
    BOOST_TEST((judge_program({folder.string()}).is_found == found::not_executable));
}

BOOST_FIXTURE_TEST_CASE(programs_with_more_rights_than_their_user_are_out_of_reach, scratch) {
    const std::string path = file("program", nothing);
    const identity self = own_identity();
    const identity other{self.uid + 1, self.gid + 1};
    BOOST_TEST(secure_mode_reason(path, other) == "");
    chmod(path.c_str(), 04755);
    BOOST_TEST(secure_mode_reason(path, other).find("setuid") != std::string::npos);
    BOOST_TEST(secure_mode_reason(path, self) == ""); // the owner gains nothing
    chmod(path.c_str(), 02755);
    BOOST_TEST(secure_mode_reason(path, other).find("setgid") != std::string::npos);
    BOOST_TEST(secure_mode_reason(path, self) == "");
    chmod(path.c_str(), 02745);
    BOOST_TEST(secure_mode_reason(path, other) == ""); // mandatory locking, not a change of group
}
