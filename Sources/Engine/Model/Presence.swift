/// How much of a file's content is on this machine.
enum Presence: Int {
    case remote = 0
    case partial = 1
    case whole = 2
}
