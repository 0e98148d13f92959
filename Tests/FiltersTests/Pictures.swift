import Testing

/// All tests that decode or encode pictures in this process: one after the other, as in a worker.
///
/// Messages of libvips are shared by all threads, and its pool of threads, before 8.15.5, can crash if
/// one image needs a thread while another has just let it go for 15 s; see
/// ``ImageWorker/defaultIdleMax``.
@Suite(.serialized)
enum Pictures {}
