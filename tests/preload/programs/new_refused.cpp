// new throws bad_alloc when it is refused, by size and by limit, after the new-handler; nothrow new answers nullptr; and
// memory taken while the exception travels is there.
#include <cstdint>
#include <new>
#include <string>
#include <unistd.h>
#include <vector>

static int handler_calls;
static void handler() {
    if (++handler_calls == 2) std::set_new_handler(nullptr);
}
static void require(bool condition, const char *what) {
    if (condition) return;
    const std::string text = std::string("expected: ") + what + "\n";
    if (write(2, text.data(), text.size()) >= 0) _exit(1);
}
template<class Call>
static bool throws(Call call) {
    try {
        call();
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}
int main() {
    volatile std::size_t huge = PTRDIFF_MAX;
    void *volatile p;
    require(throws([&] { p = ::operator new(huge); }), "new of too much throws");
    require(throws([&] { p = ::operator new[](huge, std::align_val_t{64}); }), "aligned new of too much throws");
    require(::operator new(huge, std::nothrow) == nullptr, "nothrow new of too much is null");
    require(::operator new (huge, std::align_val_t{4096}, std::nothrow) == nullptr, "aligned nothrow new is null");
    std::set_new_handler(handler);
    require(throws([&] { p = ::operator new(huge); }) && handler_calls == 2, "the handler is called until it gives up");
    std::vector<std::vector<char>> blocks;
    blocks.reserve(100);
    require(throws([&] {
                for (int i = 0; i < 100; ++i) blocks.emplace_back(1 << 20);
            }),
            "new beyond the limit throws");
    require(blocks.size() >= 14, "not before the limit");
    blocks.clear();
    delete[] new char[14 << 20];
}
