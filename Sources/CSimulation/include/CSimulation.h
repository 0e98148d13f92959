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
/// Returns 0 to let it happen, or the errno with which it fails: ENOSPC, EIO, or ESRCH if the process
/// is dead.
typedef int (*simulated_step)(void *context, enum simulated_operation operation);

/// The caller owns the disk until it gives it to simulated_disk_destroy, with all connections to it
/// closed. The context must be valid for as long.
simulated_disk *simulated_disk_create(simulated_step step, void *context);
void simulated_disk_destroy(simulated_disk *disk);

/// N.
int64_t simulated_disk_number(const simulated_disk *disk);

/// Makes a file survive a power cut, as a process does with a descriptor of its own beside SQLite's;
/// if asked to, all its bytes are written again before.
///
/// Returns 0, or an errno. After a failure other than ESRCH the changes are lost in a power cut,
/// unless they are written again, although reads still show them.
int simulated_disk_synchronize(simulated_disk *disk, const char *path, int rewrite);

/// Falls back to what was synced and, of what was written after that, what random lets survive:
/// for each file all of it, nothing, the first writes, or any, the last one perhaps in part.
/// All connections must be closed.
void simulated_disk_cut_power(
    simulated_disk *disk, uint64_t (*random)(void *), void *random_context);

/// Counts the instructions of a connection's statements (sqlite3 *) until simulated_steps_stop, which
/// frees the counter and returns its value.
int64_t *simulated_steps_start(void *connection);
int64_t simulated_steps_stop(void *connection, int64_t *count);

#endif
