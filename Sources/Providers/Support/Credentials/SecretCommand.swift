/// A command of the user that prints a secret.
package struct SecretCommand: Sendable {
    /// The command line for the shell.
    package let line: Secret
    /// Its name for a user who waits for it: `credential_process of the profile "work"`.
    package let name: String

    package init(line: Secret, name: String) {
        self.line = line
        self.name = name
    }

    /// The failure, with the beginning of the command's standard error, and without its output:
    /// `failed with status 3: the token has expired`.
    package struct Failure: Error {
        package let problem: String
    }
}
