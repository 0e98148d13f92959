import CFuse

/// libfuse's session, owned by a ``FuseSession`` and destroyed once at the end of its run.
struct SessionHandle: @unchecked Sendable {  // sound: libfuse's sessions are thread-safe
    let session: OpaquePointer

    func end() {
        fuse_session_unmount(session)
        fuse_session_destroy(session)
    }
}
