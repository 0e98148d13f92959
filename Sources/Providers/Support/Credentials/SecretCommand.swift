/// A command of the user that prints a secret.
package struct SecretCommand: Sendable {
    /// The shell command.
    package let line: Secret
    /// The name shown to the user: `credential_process of the profile "work"`.
    package let name: String

    package init(line: Secret, name: String) {
        self.line = line
        self.name = name
    }

    /// The problem, with the beginning of the standard error, and without any of the output:
    /// `failed with status 3: the token has expired`.
    package struct Failure: Error {
        package let problem: String
    }
}
