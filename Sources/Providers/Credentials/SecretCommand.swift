/// A command of the user's that prints something secret.
struct SecretCommand: Sendable {
    /// What the shell runs.
    let line: Secret
    /// What a user who waits for it knows it by: `credential_process of the profile "work"`.
    let name: String

    /// What went wrong, without anything that it printed: `failed`.
    struct Failure: Error {
        let problem: String
    }
}
