/// How much of a file's content is local.
enum Presence: Int {
    case remote = 0
    case partial = 1
    case whole = 2
}
