#include "CSimulation.h"

#include <CDatabase.h>
#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

// MARK: Files

static const int64_t sector_bytes = 512;
/// The kernel writes its pages in any order.
static const int64_t cached_bytes = 4096;

struct image {
    unsigned char *bytes;
    int64_t size;
    int64_t capacity;
};

struct change {
    int64_t offset;
    int64_t count;
    /// NULL for a change of size to offset.
    unsigned char *bytes;
};

struct simulated_file {
    struct simulated_file *next;
    char *path;
    int has_name;
    struct image current;
    struct image durable;
    int is_durable;
    struct change *changes;
    int64_t change_count;
    int64_t change_capacity;
};

struct simulated_disk {
    struct simulated_disk *next;
    int64_t number;
    simulated_step step;
    void *context;
    struct simulated_file *files;
};

static void *grown(void *memory, size_t size) {
    void *result = realloc(memory, size);
    if (result == NULL) abort();
    return result;
}

static void image_resize(struct image *image, int64_t size) {
    if (size > image->capacity) {
        image->capacity = size * 2;
        image->bytes = grown(image->bytes, (size_t)image->capacity);
    }
    if (size > image->size) {
        memset(image->bytes + image->size, 0, (size_t)(size - image->size));
    }
    image->size = size;
}

static void image_apply(struct image *image, const struct change *change) {
    if (change->bytes == NULL) {
        image_resize(image, change->offset);
        return;
    }
    if (change->offset + change->count > image->size) {
        image_resize(image, change->offset + change->count);
    }
    memcpy(image->bytes + change->offset, change->bytes, (size_t)change->count);
}

static void image_copy(struct image *target, const struct image *source) {
    target->size = 0;
    image_resize(target, source->size);
    if (source->size > 0) memcpy(target->bytes, source->bytes, (size_t)source->size);
}

static void file_forget_changes(struct simulated_file *file) {
    for (int64_t index = 0; index < file->change_count; index++) free(file->changes[index].bytes);
    file->change_count = 0;
}

/// Takes the bytes, which may be NULL.
static void file_change(
    struct simulated_file *file, int64_t offset, const void *bytes, int64_t count) {
    struct change change = {.offset = offset, .count = count, .bytes = NULL};
    if (bytes != NULL) {
        change.bytes = grown(NULL, (size_t)count + 1);
        memcpy(change.bytes, bytes, (size_t)count);
    }
    if (file->change_count == file->change_capacity) {
        file->change_capacity = file->change_capacity * 2 + 16;
        file->changes = grown(
            file->changes, (size_t)file->change_capacity * sizeof(struct change));
    }
    file->changes[file->change_count++] = change;
    image_apply(&file->current, &change);
}

static struct simulated_file *file_find(simulated_disk *disk, const char *path) {
    struct simulated_file *file = disk->files;
    while (file != NULL && strcmp(file->path, path) != 0) file = file->next;
    return file;
}

static struct simulated_file *file_create(simulated_disk *disk, const char *path) {
    struct simulated_file *file = file_find(disk, path);
    if (file == NULL) {
        file = calloc(1, sizeof *file);
        if (file == NULL) abort();
        file->path = strdup(path);
        if (file->path == NULL) abort();
        file->next = disk->files;
        disk->files = file;
    }
    if (!file->has_name) file_change(file, 0, NULL, 0);
    file->has_name = 1;
    return file;
}

// MARK: Disks

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static simulated_disk *disks;
static int64_t disks_made;
static sqlite3_vfs *others;
static const char prefix[] = "/simulated/";

static simulated_disk *disk_of(const char *path) {
    if (path == NULL || strncmp(path, prefix, sizeof prefix - 1) != 0) return NULL;
    int64_t number = strtoll(path + sizeof prefix - 1, NULL, 10);
    pthread_mutex_lock(&lock);
    simulated_disk *disk = disks;
    while (disk != NULL && disk->number != number) disk = disk->next;
    pthread_mutex_unlock(&lock);
    return disk;
}

static int refusal(simulated_disk *disk, enum simulated_operation operation) {
    switch (disk->step(disk->context, operation)) {
    case 0: return SQLITE_OK;
    case ENOSPC: return SQLITE_FULL;
    default:
        return operation == SIMULATED_READ ? SQLITE_IOERR_READ
            : operation == SIMULATED_SYNC  ? SQLITE_IOERR_FSYNC
                                           : SQLITE_IOERR_WRITE;
    }
}

static void file_make_durable(simulated_disk *disk, struct simulated_file *file) {
    // The changes lead from the durable image to the current one, and are much smaller.
    for (int64_t index = 0; index < file->change_count; index++) {
        image_apply(&file->durable, &file->changes[index]);
    }
    file->is_durable = file->has_name;
    file_forget_changes(file);
    // A journaling file system commits the removals that went before along with it. SQLite relies
    // on that for the rollback journal of a database that was just made.
    for (struct simulated_file *other = disk->files; other != NULL; other = other->next) {
        if (!other->has_name) other->is_durable = 0;
    }
}

// MARK: What SQLite calls on an open file

struct handle {
    sqlite3_file base;
    simulated_disk *disk;
    struct simulated_file *file;
};

static int handle_close(sqlite3_file *base) {
    (void)base;
    return SQLITE_OK;
}

static int handle_read(sqlite3_file *base, void *target, int count, sqlite3_int64 offset) {
    struct handle *handle = (struct handle *)base;
    int code = refusal(handle->disk, SIMULATED_READ);
    if (code != SQLITE_OK) return code;
    const struct image *image = &handle->file->current;
    int64_t there = image->size - offset;
    if (there > count) there = count;
    if (there < 0) there = 0;
    if (there > 0) memcpy(target, image->bytes + offset, (size_t)there);
    if (there == count) return SQLITE_OK;
    memset((unsigned char *)target + there, 0, (size_t)(count - there));
    return SQLITE_IOERR_SHORT_READ;
}

static int handle_write(sqlite3_file *base, const void *bytes, int count, sqlite3_int64 offset) {
    struct handle *handle = (struct handle *)base;
    int code = refusal(handle->disk, SIMULATED_WRITE);
    if (code != SQLITE_OK) return code;
    const unsigned char *rest = bytes;
    while (count > 0) {
        int64_t piece = cached_bytes - offset % cached_bytes;
        if (piece > count) piece = count;
        file_change(handle->file, offset, rest, piece);
        rest += piece;
        offset += piece;
        count -= (int)piece;
    }
    return SQLITE_OK;
}

static int handle_truncate(sqlite3_file *base, sqlite3_int64 size) {
    struct handle *handle = (struct handle *)base;
    int code = refusal(handle->disk, SIMULATED_WRITE);
    if (code != SQLITE_OK) return code;
    file_change(handle->file, size, NULL, 0);
    return SQLITE_OK;
}

static int handle_sync(sqlite3_file *base, int flags) {
    (void)flags;
    struct handle *handle = (struct handle *)base;
    int code = refusal(handle->disk, SIMULATED_SYNC);
    if (code != SQLITE_OK) return code;
    file_make_durable(handle->disk, handle->file);
    return SQLITE_OK;
}

static int handle_size(sqlite3_file *base, sqlite3_int64 *size) {
    *size = ((struct handle *)base)->file->current.size;
    return SQLITE_OK;
}

static int handle_lock(sqlite3_file *base, int level) {
    (void)base;
    (void)level;
    return SQLITE_OK;
}

static int handle_check_lock(sqlite3_file *base, int *result) {
    (void)base;
    *result = 0;
    return SQLITE_OK;
}

static int handle_control(sqlite3_file *base, int operation, void *argument) {
    (void)base;
    (void)operation;
    (void)argument;
    return SQLITE_NOTFOUND;
}

static int handle_sector_size(sqlite3_file *base) {
    (void)base;
    return (int)sector_bytes;
}

static int handle_characteristics(sqlite3_file *base) {
    (void)base;
    return 0;
}

// No shared memory: SQLite keeps the index of the write-ahead log to itself where a connection has
// locking_mode=EXCLUSIVE.
static const sqlite3_io_methods handle_methods = {
    .iVersion = 1,
    .xClose = handle_close,
    .xRead = handle_read,
    .xWrite = handle_write,
    .xTruncate = handle_truncate,
    .xSync = handle_sync,
    .xFileSize = handle_size,
    .xLock = handle_lock,
    .xUnlock = handle_lock,
    .xCheckReservedLock = handle_check_lock,
    .xFileControl = handle_control,
    .xSectorSize = handle_sector_size,
    .xDeviceCharacteristics = handle_characteristics,
};

// MARK: What SQLite calls on a file system

static int system_open(
    sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags, int *flags_out) {
    (void)vfs;
    simulated_disk *disk = disk_of(path);
    if (disk == NULL) return others->xOpen(others, path, base, flags, flags_out);
    struct handle *handle = (struct handle *)base;
    handle->base.pMethods = NULL;
    struct simulated_file *file = file_find(disk, path);
    if (file == NULL || !file->has_name) {
        if (!(flags & SQLITE_OPEN_CREATE)) return SQLITE_CANTOPEN;
        if (refusal(disk, SIMULATED_WRITE) != SQLITE_OK) return SQLITE_CANTOPEN;
        file = file_create(disk, path);
    }
    handle->disk = disk;
    handle->file = file;
    handle->base.pMethods = &handle_methods;
    if (flags_out != NULL) *flags_out = flags;
    return SQLITE_OK;
}

static int system_delete(sqlite3_vfs *vfs, const char *path, int sync) {
    (void)vfs;
    simulated_disk *disk = disk_of(path);
    if (disk == NULL) return others->xDelete(others, path, sync);
    int code = refusal(disk, SIMULATED_WRITE);
    if (code != SQLITE_OK) return code;
    struct simulated_file *file = file_find(disk, path);
    if (file == NULL || !file->has_name) return SQLITE_IOERR_DELETE_NOENT;
    file->has_name = 0;
    file_change(file, 0, NULL, 0);
    if (sync) file->is_durable = 0;
    return SQLITE_OK;
}

static int system_access(sqlite3_vfs *vfs, const char *path, int flags, int *result) {
    (void)vfs;
    simulated_disk *disk = disk_of(path);
    if (disk == NULL) return others->xAccess(others, path, flags, result);
    struct simulated_file *file = file_find(disk, path);
    *result = file != NULL && file->has_name;
    // SQLite takes an empty journal for none.
    if (flags == SQLITE_ACCESS_EXISTS && *result && file->current.size == 0) *result = 0;
    return SQLITE_OK;
}

static int system_full_path(sqlite3_vfs *vfs, const char *path, int room, char *target) {
    (void)vfs;
    if (disk_of(path) == NULL) return others->xFullPathname(others, path, room, target);
    sqlite3_snprintf(room, target, "%s", path);
    return SQLITE_OK;
}

static sqlite3_vfs system_methods;
static pthread_once_t registration = PTHREAD_ONCE_INIT;

static void register_system(void) {
    others = sqlite3_vfs_find(NULL);
    if (others == NULL) abort();
    // All that has nothing to do with files, as before.
    system_methods = *others;
    system_methods.pNext = NULL;
    system_methods.zName = "simulated";
    if (system_methods.szOsFile < (int)sizeof(struct handle)) {
        system_methods.szOsFile = (int)sizeof(struct handle);
    }
    system_methods.xOpen = system_open;
    system_methods.xDelete = system_delete;
    system_methods.xAccess = system_access;
    system_methods.xFullPathname = system_full_path;
    if (sqlite3_vfs_register(&system_methods, 0) != SQLITE_OK) abort();
    // As in the daemon. GRDB has no way to name another file system, so this one becomes the usual one.
    if (!apus_join_log_writes(system_methods.zName, "simulated-joined", true)) abort();
}

// MARK: For Swift

simulated_disk *simulated_disk_create(simulated_step step, void *context) {
    pthread_once(&registration, register_system);
    simulated_disk *disk = calloc(1, sizeof *disk);
    if (disk == NULL) abort();
    disk->step = step;
    disk->context = context;
    pthread_mutex_lock(&lock);
    disk->number = ++disks_made;
    disk->next = disks;
    disks = disk;
    pthread_mutex_unlock(&lock);
    return disk;
}

static void file_destroy(struct simulated_file *file) {
    file_forget_changes(file);
    free(file->changes);
    free(file->current.bytes);
    free(file->durable.bytes);
    free(file->path);
    free(file);
}

void simulated_disk_destroy(simulated_disk *disk) {
    pthread_mutex_lock(&lock);
    simulated_disk **place = &disks;
    while (*place != disk) place = &(*place)->next;
    *place = disk->next;
    pthread_mutex_unlock(&lock);
    while (disk->files != NULL) {
        struct simulated_file *file = disk->files;
        disk->files = file->next;
        file_destroy(file);
    }
    free(disk);
}

int simulated_disk_synchronize(simulated_disk *disk, const char *path, int rewrite) {
    struct simulated_file *file = file_find(disk, path);
    if (file == NULL || !file->has_name) return ENOENT;
    if (rewrite) {
        int code = disk->step(disk->context, SIMULATED_WRITE);
        if (code != 0) return code;
        file_change(file, 0, file->current.bytes, file->current.size);
        file_change(file, file->current.size, NULL, 0);
    }
    int code = disk->step(disk->context, SIMULATED_SYNC);
    if (code == 0) file_make_durable(disk, file);
    // Linux counts bytes as written that it could not write. A process that is dead did not try.
    if (code != 0 && code != ESRCH) file_forget_changes(file);
    return code;
}

int64_t simulated_disk_number(const simulated_disk *disk) { return disk->number; }

static void file_cut_power(
    struct simulated_file *file, uint64_t (*random)(void *), void *random_context) {
    int64_t kept = file->change_count;
    int any = 0;
    switch (random(random_context) % 4) {
    case 0: kept = 0; break;
    case 1: break;
    case 2: kept = (int64_t)(random(random_context) % (uint64_t)(kept + 1)); break;
    default: any = 1;
    }
    for (int64_t index = 0; index < kept; index++) {
        struct change change = file->changes[index];
        if (any && random(random_context) % 2 == 0) continue;
        if (index == kept - 1 && change.bytes != NULL && random(random_context) % 2 == 0) {
            int64_t end = change.offset
                + (int64_t)(random(random_context) % (uint64_t)(change.count + 1));
            end -= end % sector_bytes;
            if (end <= change.offset) continue;
            change.count = end - change.offset;
        }
        image_apply(&file->durable, &change);
    }
    // A name that was made or removed since, and never synced, is there or not.
    if (file->is_durable != file->has_name) file->is_durable = random(random_context) % 2 == 0;
    file_forget_changes(file);
    if (!file->is_durable) file->durable.size = 0;
    file->has_name = file->is_durable;
    image_copy(&file->current, &file->durable);
}

void simulated_disk_cut_power(
    simulated_disk *disk, uint64_t (*random)(void *), void *random_context) {
    for (struct simulated_file *file = disk->files; file != NULL; file = file->next) {
        file_cut_power(file, random, random_context);
    }
}

// MARK: Statements

static int count_step(void *count) {
    ++*(int64_t *)count;
    return 0;
}

int64_t *simulated_steps_start(void *connection) {
    int64_t *count = calloc(1, sizeof *count);
    if (count == NULL) abort();
    sqlite3_progress_handler(connection, 1, count_step, count);
    return count;
}

int64_t simulated_steps_stop(void *connection, int64_t *count) {
    sqlite3_progress_handler(connection, 0, NULL, NULL);
    int64_t result = *count;
    free(count);
    return result;
}
