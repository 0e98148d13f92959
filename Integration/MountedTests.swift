import Testing

/// `apus` as a process, a real mount, real programs.
///
/// One after another within a process, since their system calls block. scripts/run-tests gives each a
/// process of its own, and runs several at a time.
@Suite(.serialized)
enum MountedTests {}
