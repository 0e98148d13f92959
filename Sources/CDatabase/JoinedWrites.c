#include "CDatabase.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// MARK: Held frames

// The format of the log: https://sqlite.org/fileformat2.html#walformat. SQLite writes the header of a
// frame, then its page.
static const int frame_header_bytes = 24;
/// Where a frame header has the size of the database, if the frame ends a commit; otherwise 0.
static const int commit_mark_offset = 4;

/// SQLite's own file systems take the count of bytes modulo 128 KiB.
static const int held_bytes_max = 128 * 1024 - 1;

enum expected { EXPECTS_HEADER, EXPECTS_PAGE, EXPECTS_LAST_PAGE };

/// Frames of one transaction that SQLite has written, and the file has not. No other connection asks for them,
/// as the index of the log names them only after the commit.
struct frames {
    /// NULL until the first frame.
    unsigned char *bytes;
    int64_t offset;
    int count;
    enum expected expected;
    /// The offset of the expected page.
    int64_t page_offset;
    /// Headers before the end of the last commit are written again: SQLite corrects their checksums if the
    /// transaction wrote a page twice.
    int64_t committed_end;
};

static int64_t frames_end(const struct frames *frames) { return frames->offset + frames->count; }

static int frames_contain(const struct frames *frames, int64_t offset, int count) {
    return frames->count > 0 && offset >= frames->offset && offset + count <= frames_end(frames);
}

static int frames_overlap(const struct frames *frames, int64_t offset, int count) {
    return frames->count > 0 && offset < frames_end(frames) && offset + count > frames->offset;
}

static void frames_drop(struct frames *frames) {
    frames->count = 0;
    frames->expected = EXPECTS_HEADER;
}

/// Keeps the bytes if it fails, so that none are missing below the frames of a later success.
static int frames_flush(struct frames *frames, sqlite3_file *below) {
    if (frames->count == 0) return SQLITE_OK;
    int code = below->pMethods->xWrite(below, frames->bytes, frames->count, frames->offset);
    if (code == SQLITE_OK) frames->count = 0;
    return code;
}

/// Adds bytes at the end of those held.
static int frames_add(
    struct frames *frames, sqlite3_file *below, const void *bytes, int count, int64_t offset) {
    if (frames->count + count > held_bytes_max) {
        int code = frames_flush(frames, below);
        if (code != SQLITE_OK) return code;
    }
    if (frames->bytes == NULL) frames->bytes = malloc((size_t)held_bytes_max);
    if (frames->bytes == NULL || count > held_bytes_max) {
        return below->pMethods->xWrite(below, bytes, count, offset);
    }
    if (frames->count == 0) frames->offset = offset;
    memcpy(frames->bytes + frames->count, bytes, (size_t)count);
    frames->count += count;
    return SQLITE_OK;
}

/// Begins a frame. Those held from its offset on are not part of the transaction: it was rolled back, or a
/// savepoint of it.
static int frames_begin(
    struct frames *frames, sqlite3_file *below, const unsigned char *header, int64_t offset) {
    if (frames->count > 0 && offset < frames_end(frames)) {
        int64_t kept = offset - frames->offset;
        frames->count = kept > 0 ? (int)kept : 0;
    }
    if (frames->count > 0 && offset != frames_end(frames)) {
        int code = frames_flush(frames, below);
        if (code != SQLITE_OK) return code;
    }
    int code = frames_add(frames, below, header, frame_header_bytes, offset);
    if (code != SQLITE_OK) return code;
    uint32_t commit_mark;
    memcpy(&commit_mark, header + commit_mark_offset, sizeof commit_mark);
    frames->expected = commit_mark == 0 ? EXPECTS_PAGE : EXPECTS_LAST_PAGE;
    frames->page_offset = offset + frame_header_bytes;
    return SQLITE_OK;
}

/// Ends a frame. With the last one of a commit all are written: SQLite tells other connections of the commit
/// when this returns.
static int frames_end_frame(
    struct frames *frames, sqlite3_file *below, const void *page, int count, int64_t offset) {
    int is_last = frames->expected == EXPECTS_LAST_PAGE;
    frames->expected = EXPECTS_HEADER;
    int code = frames_add(frames, below, page, count, offset);
    if (!is_last) return code;
    if (code == SQLITE_OK) code = frames_flush(frames, below);
    if (code == SQLITE_OK) {
        frames->committed_end = offset + count;
    } else {
        // A commit that has failed must not be written later.
        frames_drop(frames);
    }
    return code;
}

// MARK: What SQLite calls on an open file

/// A database or its log. The file below follows in memory.
struct file {
    sqlite3_file base;
    /// As many as the file below has.
    sqlite3_io_methods methods;
    /// The other one of the same connection, which one thread uses at a time; NULL if it is not open.
    struct file *partner;
    /// Of a log.
    struct frames frames;
};

static struct file *file_of(sqlite3_file *base) { return (struct file *)base; }

static sqlite3_file *below(sqlite3_file *base) { return (sqlite3_file *)(file_of(base) + 1); }

static int file_flush(sqlite3_file *base) {
    return frames_flush(&file_of(base)->frames, below(base));
}

static int file_close(sqlite3_file *base) {
    struct file *file = file_of(base);
    if (file->partner != NULL) file->partner->partner = NULL;
    // Held frames are those of a transaction that has not committed.
    free(file->frames.bytes);
    file->frames.bytes = NULL;
    return below(base)->pMethods->xClose(below(base));
}

static int file_read(sqlite3_file *base, void *target, int count, sqlite3_int64 offset) {
    struct frames *frames = &file_of(base)->frames;
    if (frames_contain(frames, offset, count)) {
        memcpy(target, frames->bytes + (offset - frames->offset), (size_t)count);
        return SQLITE_OK;
    }
    if (frames_overlap(frames, offset, count)) {
        int code = file_flush(base);
        if (code != SQLITE_OK) return code;
    }
    return below(base)->pMethods->xRead(below(base), target, count, offset);
}

static int file_write(sqlite3_file *base, const void *bytes, int count, sqlite3_int64 offset) {
    return below(base)->pMethods->xWrite(below(base), bytes, count, offset);
}

static int log_write(sqlite3_file *base, const void *bytes, int count, sqlite3_int64 offset) {
    struct frames *frames = &file_of(base)->frames;
    if (offset == 0) {
        // The log begins again.
        frames_drop(frames);
        frames->committed_end = 0;
    }
    if (frames->expected != EXPECTS_HEADER && offset == frames->page_offset) {
        return frames_end_frame(frames, below(base), bytes, count, offset);
    }
    if (count == frame_header_bytes && offset >= frames->committed_end) {
        return frames_begin(frames, below(base), bytes, offset);
    }
    if (frames_contain(frames, offset, count)) {
        memcpy(frames->bytes + (offset - frames->offset), bytes, (size_t)count);
        return SQLITE_OK;
    }
    int code = file_flush(base);
    if (code != SQLITE_OK) return code;
    return file_write(base, bytes, count, offset);
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size) {
    int code = file_flush(base);
    if (code != SQLITE_OK) return code;
    return below(base)->pMethods->xTruncate(below(base), size);
}

static int file_sync(sqlite3_file *base, int flags) {
    int code = file_flush(base);
    if (code != SQLITE_OK) return code;
    return below(base)->pMethods->xSync(below(base), flags);
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size) {
    int code = file_flush(base);
    if (code != SQLITE_OK) return code;
    return below(base)->pMethods->xFileSize(below(base), size);
}

static int file_lock(sqlite3_file *base, int level) {
    return below(base)->pMethods->xLock(below(base), level);
}

static int file_unlock(sqlite3_file *base, int level) {
    return below(base)->pMethods->xUnlock(below(base), level);
}

static int file_check_lock(sqlite3_file *base, int *result) {
    return below(base)->pMethods->xCheckReservedLock(below(base), result);
}

static int file_control(sqlite3_file *base, int operation, void *argument) {
    return below(base)->pMethods->xFileControl(below(base), operation, argument);
}

static int file_sector_size(sqlite3_file *base) {
    return below(base)->pMethods->xSectorSize(below(base));
}

static int file_characteristics(sqlite3_file *base) {
    return below(base)->pMethods->xDeviceCharacteristics(below(base));
}

static int file_map(sqlite3_file *base, int region, int size, int extends, void volatile **memory) {
    return below(base)->pMethods->xShmMap(below(base), region, size, extends, memory);
}

/// The lock of the index of a log that a connection has as long as it may write to the log.
static const int write_lock = 0;

static int file_lock_index(sqlite3_file *base, int first, int count, int flags) {
    int unlocks = SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE;
    struct file *log = file_of(base)->partner;
    if (log != NULL && first == write_lock && (flags & unlocks) == unlocks) {
        // A commit has written its frames. Others were rolled back, and another connection may be the next one
        // to write there.
        frames_drop(&log->frames);
        log->frames.committed_end = 0;
    }
    return below(base)->pMethods->xShmLock(below(base), first, count, flags);
}

static void file_barrier(sqlite3_file *base) {
    below(base)->pMethods->xShmBarrier(below(base));
}

static int file_unmap(sqlite3_file *base, int deletes) {
    return below(base)->pMethods->xShmUnmap(below(base), deletes);
}

static int file_fetch(sqlite3_file *base, sqlite3_int64 offset, int count, void **memory) {
    return below(base)->pMethods->xFetch(below(base), offset, count, memory);
}

static int file_release(sqlite3_file *base, sqlite3_int64 offset, void *memory) {
    return below(base)->pMethods->xUnfetch(below(base), offset, memory);
}

static const sqlite3_io_methods file_methods = {
    .iVersion = 3,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_lock,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = file_map,
    .xShmLock = file_lock_index,
    .xShmBarrier = file_barrier,
    .xShmUnmap = file_unmap,
    .xFetch = file_fetch,
    .xUnfetch = file_release,
};

// MARK: What SQLite calls on a file system

static void log_join(struct file *log, const char *path) {
    sqlite3_file *database = sqlite3_database_file_object(path);
    if (database == NULL || database->pMethods == NULL) return;
    if (database->pMethods->xClose != file_close) return;
    log->partner = file_of(database);
    log->partner->partner = log;
}

static int system_open(
    sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags, int *flags_out) {
    sqlite3_vfs *others = vfs->pAppData;
    // SQLite offers the room for ours, which is larger.
    if (!(flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL))) {
        return others->xOpen(others, path, base, flags, flags_out);
    }
    struct file *file = file_of(base);
    memset(file, 0, sizeof *file);
    below(base)->pMethods = NULL;
    int code = others->xOpen(others, path, below(base), flags, flags_out);
    // SQLite closes a file that failed to open if it has methods.
    const sqlite3_io_methods *methods = below(base)->pMethods;
    if (methods == NULL) return code;
    file->methods = file_methods;
    if (methods->iVersion < file->methods.iVersion) file->methods.iVersion = methods->iVersion;
    if (methods->xShmMap == NULL) file->methods.xShmMap = NULL;
    file->base.pMethods = &file->methods;
    if (code == SQLITE_OK && (flags & SQLITE_OPEN_WAL)) {
        file->methods.xWrite = log_write;
        log_join(file, path);
    }
    return code;
}

// MARK: For Swift

static sqlite3_vfs *system_create(const char *below, const char *name) {
    sqlite3_vfs *others = sqlite3_vfs_find(below);
    sqlite3_vfs *result = malloc(sizeof *result);
    char *copy = strdup(name);
    if (others == NULL || result == NULL || copy == NULL) {
        free(result);
        free(copy);
        return NULL;
    }
    // All other methods need no file.
    *result = *others;
    result->pNext = NULL;
    result->zName = copy;
    result->pAppData = others;
    result->szOsFile = (int)sizeof(struct file) + others->szOsFile;
    result->xOpen = system_open;
    return result;
}

bool apus_join_log_writes(const char *below, const char *name, bool is_default) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    sqlite3_vfs *system = sqlite3_vfs_find(name);
    if (system == NULL) system = system_create(below, name);
    bool succeeds = system != NULL && sqlite3_vfs_register(system, is_default) == SQLITE_OK;
    pthread_mutex_unlock(&lock);
    return succeeds;
}
