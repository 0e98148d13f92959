/// A command of the user's that prints something secret.
struct SecretCommand: Sendable {
    /// What the shell runs.
    let line: Secret
    /// What a user who waits for it knows it by: `credential_process of the profile "work"`.
    let name: String

    /// What went wrong, with the beginning of what it said on its standard error, and nothing of what it
    /// printed: `failed with status 3: the token has expired`.
    struct Failure: Error {
        let problem: String
    }
}
