import Foundation

/// Replaces names of this machine, its user and its mounts in texts for others.
struct Redaction {
    private var replacements: [(name: String, placeholder: String)] = []

    /// - Parameters:
    ///   - name: Nothing happens if it is very short: it would be found within words.
    ///   - placeholder: Such as `<mount 1>`.
    mutating func hide(_ name: String, as placeholder: String) {
        guard name.count > 2, !replacements.contains(where: { $0.name == name }) else { return }
        replacements.append((name, placeholder))
        // A longer name may contain a shorter one.
        replacements.sort { $0.name.utf8.count > $1.name.utf8.count }
    }

    func applied(to text: String) -> String {
        replacements.reduce(text) { $0.replacing($1.name, with: $1.placeholder) }
    }

    func applied(to diagnosis: Diagnosis) -> Diagnosis {
        Diagnosis(
            subject: applied(to: diagnosis.subject), verdict: diagnosis.verdict,
            finding: applied(to: diagnosis.finding), remedy: diagnosis.remedy.map(applied))
    }
}
