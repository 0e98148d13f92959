// libfuse 3's low-level API for Swift.
//
// Ownership: a `fuse_req_t` lives until exactly one fuse_reply_* call takes it; libfuse accepts that
// call on any thread. Pointers that a callback receives (names, buffers, file infos) live only until
// the callback returns. Callbacks arrive on libfuse's loop threads, several at once.
#pragma once

// The oldest API that has everything we use, so that distributions with libfuse 3.10 build too.
#define FUSE_USE_VERSION 35
#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdlib.h>
#include <string.h>

// Macros with versioned names that Swift cannot import.
static inline int apus_session_loop_mt(struct fuse_session *session, struct fuse_loop_config *config) {
    return fuse_session_loop_mt(session, config);
}
