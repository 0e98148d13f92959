/// Compares secrets.
enum SecretText {
    /// Takes the same time for each wrong text of one length.
    static func isEqual(_ text: String, _ other: String) -> Bool {
        let (bytes, others) = (Array(text.utf8), Array(other.utf8))
        guard bytes.count == others.count else { return false }
        return zip(bytes, others).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
