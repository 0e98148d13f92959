// A file system for SQLite that writes the frames of a commit to the write-ahead log at once.
// See docs/decisions/028-pages-and-frames.md.

#ifndef CDATABASE_H
#define CDATABASE_H

#include <stdbool.h>

/// Registers a file system named `name` above the one named `below`; with `is_default`, connections opened from
/// now on use it if they name no other. It stays registered.
///
/// Returns false if there is no file system `below`, or no memory. May be called from any thread.
bool apus_join_log_writes(const char *below, const char *name, bool is_default);

#endif
