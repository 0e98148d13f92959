import Testing

/// The real thing: `apus` as a process, a real mount, real programs.
///
/// One after the other, since most of them watch the clock: uploads that are slow on purpose,
/// settle times, deadlines.
@Suite(.serialized)
enum MountedTests {}
