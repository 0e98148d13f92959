import Control

/// The configuration files, if there are mounts in them, or they are wrong.
enum ConfigurationDiagnosis {
    static func all(_ configuration: Result<Configuration, any Error>) -> [Diagnosis] {
        let subject = "configuration"
        switch configuration {
        case .success(let configuration):
            let count = configuration.mounts.count
            return count == 0 ? [] : [.good(subject, counted(count, "mount", "mounts"))]
        case .failure(let error):
            let problem = CommandFailure(error)?.problem
            return [
                .bad(
                    subject, problem.map { "\($0.what): \($0.why)" } ?? "\(error)",
                    remedy: problem?.remedy ?? "see man 5 apus")
            ]
        }
    }
}
