/// A command of the user's that prints something secret.
package struct SecretCommand: Sendable {
    /// What the shell runs.
    package let line: Secret
    /// What a user who waits for it knows it by: `credential_process of the profile "work"`.
    package let name: String

    package init(line: Secret, name: String) {
        self.line = line
        self.name = name
    }

    /// What went wrong, with the beginning of what it said on its standard error, and nothing of what it
    /// printed: `failed with status 3: the token has expired`.
    package struct Failure: Error {
        package let problem: String
    }
}
