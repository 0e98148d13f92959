import Logging

/// The content of files: open, read, write, truncate, freeze and close.
///
/// Lock order: a shard of ``OpenFileTable``, then ``OpenFile``, then the database's writer.
struct ContentStore: Sendable {
    let configuration: EngineConfiguration
    let store: Store
    let disk: any Disk
    let clock: any Clock
    let logger: Logger
    let files: OpenFileTable
    let space: Space
    let durability: Durability
    let reaper: Reaper
    let agenda: Agenda
    let fillQueue: FillQueue
}
