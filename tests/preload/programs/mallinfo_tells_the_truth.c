// mallinfo2 and mallinfo see what is allocated and what is freed.
#include "expect.h"
#include <malloc.h>

static size_t in_use(void) {
    const struct mallinfo2 now = mallinfo2();
    expect(now.uordblks <= now.arena && now.uordblks + now.fordblks == now.arena);
    return now.uordblks + now.hblkhd;
}
int main(void) {
    static void *blocks[1000];
    const size_t start = in_use();
    for (int i = 0; i < 1000; ++i) blocks[i] = malloc(1000);
    const size_t full = in_use();
    expect(full >= start + 1000 * 1000 && full < start + 1000 * 1500);
    void *large = malloc(50 << 20);
    expect(in_use() >= full + (50u << 20));
    expect((size_t)mallinfo().hblkhd >= 50u << 20 && mallinfo().hblks >= 1);
    free(large);
    for (int i = 0; i < 1000; ++i) free(blocks[i]);
    expect(in_use() <= start + 10000);
}
