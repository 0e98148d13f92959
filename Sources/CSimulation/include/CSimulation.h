// A disk in memory for SQLite, which forgets in a power cut what was not synced.
//
// Files whose path begins with "/simulated/N/" belong to disk N; SQLite opens all others as before.
// A disk and its files are used by one thread at a time.

#ifndef CSIMULATION_H
#define CSIMULATION_H

#include <stdint.h>

typedef struct simulated_disk simulated_disk;

/// What SQLite is about to do.
enum simulated_operation {
    SIMULATED_READ = 0,
    SIMULATED_WRITE = 1,
    SIMULATED_SYNC = 2,
};

/// Asked before each operation; context is the one given to simulated_disk_create.
///
/// Returns 0 to let it happen, or the errno with which it fails: ENOSPC, or EIO.
typedef int (*simulated_step)(void *context, enum simulated_operation operation);

/// The caller owns the disk until it gives it to simulated_disk_destroy, with all connections to it
/// closed. The context must be valid for as long.
simulated_disk *simulated_disk_create(simulated_step step, void *context);
void simulated_disk_destroy(simulated_disk *disk);

/// N.
int64_t simulated_disk_number(const simulated_disk *disk);

/// Falls back to what was synced and, of what was written after that, what random lets survive:
/// for each file all of it, nothing, the first writes, or any, the last one perhaps in part.
/// All connections must be closed.
void simulated_disk_cut_power(
    simulated_disk *disk, uint64_t (*random)(void *), void *random_context);

#endif
