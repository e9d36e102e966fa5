// What the library shows to the programs it is loaded into; symbols.map is the list.
#pragma once

#define ALLOT_EXPORT __attribute__((visibility("default")))

// A second name of a function, with all its attributes where the compiler can say so.
#if __has_attribute(copy)
#define ALLOT_SAME_AS(function) __attribute__((alias(#function), copy(function)))
#else
#define ALLOT_SAME_AS(function) __attribute__((alias(#function)))
#endif
