/*
 * The format of a trace: each allocation and each free of a program, or of a tree of programs, in one file.
 *
 * It exists so that what real programs do can be looked at (allot trace FILE) and done again under other rules, without the
 * programs. ALLOT_TRACE=FILE or allot run --trace FILE writes it.
 *
 * Threads: constants and layouts alone. Byte order: little endian, in a file as in memory.
 *
 *     slot 0        allot_trace_header
 *     slot 1 ...    blocks of 1, 2, 4, 8 or 16 slots each: allot_trace_block, then records, then zeros
 *
 * All processes of a tree write to one file at the same time: who needs a block adds its slots to next_slot, makes the file
 * reach so far, and maps the block, shared. A record is there for every reader as soon as it is written, also if the process is killed
 * with the next instruction. Slots that were claimed and never written are zero, or behind the end of the file.
 *
 * A block belongs to one stream: what one thread of one program image did, in order. (A thread that begins may go on in the
 * stream of one that has ended.) An image is named by pid and image_started: a fork and an exec begin a new one.
 * Each block can be read by itself; their order is `sequence`. Across streams, records are ordered by time: a free is
 * stamped before the block can be used again, an allocation when it has been made.
 *
 * A record is one byte, numbers, and for some kinds a text:
 *     byte     bits 0-4: its kind, bits 5-7: how many numbers follow; 0 is the end of the block
 *     numbers  unsigned, 7 bits a byte, the lowest first, the top bit of each byte says that another one follows (LEB128)
 *     text     kinds from 24 on: as many bytes as the last number says, not terminated
 * The byte is written last, so that a torn record is the end. A reader passes over kinds that it does not know.
 *
 * The first number of each record is the time since the record before it, in nanoseconds (of the block's `time` for the first).
 * An ADDRESS is a difference too, to the address before it in the block, 0 at first: (address - before) / 16, signed, folded
 * to unsigned as 0, -1, 1, -2, 2 ... are 0, 1, 2, 3, 4. It names a block of memory from its allocation to its free.
 */
#ifndef ALLOT_TRACE_H
#define ALLOT_TRACE_H

#include <stdint.h>

#define ALLOT_TRACE_MAGIC 0x6372547424a11e07u /* of the file; no text file begins so */
#define ALLOT_TRACE_BLOCK_MAGIC 0x6b6c4274u
#define ALLOT_TRACE_MAJOR 1 /* changes when an older reader would be wrong */
#define ALLOT_TRACE_MINOR 0 /* changes when it would miss something */
#define ALLOT_TRACE_SLOT_BYTES_LEAST 16384u
#define ALLOT_TRACE_BLOCK_SLOTS_MAX 16u
#define ALLOT_TRACE_CLOCK_MONOTONIC                                                                                    \
    1u /* CLOCK_MONOTONIC, nanoseconds: one clock for all processes until the next boot */

typedef struct allot_trace_header {
    uint64_t magic; /* written last */
    uint16_t major, minor;
    uint32_t slot_bytes; /* a multiple of the OS page */
    uint32_t page_bytes; /* what accounting calls a page: 4096 */
    uint32_t clock;
    uint64_t made_at;          /* by `clock` ... */
    uint64_t made_at_realtime; /* ... and in nanoseconds since 1970, the same moment */
    uint64_t next_slot;        /* added to by all writers at the same time */
    uint32_t nr_stopped;       /* images that ended recording before their end, for want of space ... */
    uint32_t stop_reason;      /* ... and why the last of them did: ALLOT_TRACE_STOPPED_... */
} allot_trace_header;

#define ALLOT_TRACE_STOPPED_NO_SPACE 1u /* the disk is full, or the file may not grow */
#define ALLOT_TRACE_STOPPED_NO_FILE 2u  /* it cannot be opened any more, or is another one */
#define ALLOT_TRACE_STOPPED_NO_MEMORY 3u
#define ALLOT_TRACE_STOPPED_FORBIDDEN                                                                                  \
    4u /* the program has forbidden itself system calls: blocks that it has are filled */

typedef struct allot_trace_block {
    uint32_t magic; /* written last */
    uint32_t nr_slots;
    uint32_t pid;
    uint32_t thread; /* whose records follow */
    uint64_t image_started;
    uint32_t stream;   /* within the image, from 1 */
    uint32_t sequence; /* within the stream, from 0 */
    uint64_t time;
    uint64_t reserved[3];
} allot_trace_block;

/* Numbers after the time. */
typedef enum allot_trace_kind {
    ALLOT_TRACE_END = 0,
    ALLOT_TRACE_THREAD = 1,    /* ID: the records that follow are of another thread */
    ALLOT_TRACE_WORKS_FOR = 2, /* OWNER: what is allocated from now on is charged to it; said anew in each block */
    ALLOT_TRACE_ALLOC = 3,     /* ADDRESS REQUESTED SLACK: bytes asked for, and what the block has beyond them */
    ALLOT_TRACE_FREE = 4,      /* ADDRESS */
    ALLOT_TRACE_RESIZE =
        5, /* ADDRESS REQUESTED SLACK: a realloc that stayed; one that moves is an allocation and a free */
    ALLOT_TRACE_TRANSFER = 6, /* ADDRESS OWNER: charged to another one from now on */
    ALLOT_TRACE_REFUSED = 7,  /* REQUESTED */
    ALLOT_TRACE_LOST = 8,     /* COUNT: records of a signal handler that interrupted the writing of records */

    ALLOT_TRACE_PROGRAM = 24, /* PARENT_PID LENGTH text: the image's file name; in the first block of each stream */
    ALLOT_TRACE_OWNER = 25    /* OWNER LENGTH text: the path of the tenant that this number stands for, from now on, in
                                 this block */
} allot_trace_kind;

#define ALLOT_TRACE_FIRST_KIND_WITH_TEXT 24

#endif
