import Testing

extension MountedTests {
    /// docs/guide.md, as a new user follows it.
    @Suite(.timeLimit(.minutes(4)))
    struct `The guide` {
        private static let sections = Guide.current.sections.filter { section in
            section.blocks.contains { $0.reasonNotToRun == nil }
        }

        @Test(arguments: sections)
        func `each command succeeds and prints the output of the guide`(
            section: Guide.Section
        ) async throws {
            try await GuideWorld.with(section) { world in
                for block in section.blocks where block.reasonNotToRun == nil {
                    let problem = try world.problem(with: block)
                    // Later commands rely on it.
                    try #require(problem == nil, Comment(rawValue: problem ?? ""))
                }
            }
        }

        /// A command that is not run has to be added here, too.
        @Test func `only these commands are not run`() {
            let blocks = Guide.current.sections.flatMap(\.blocks)
            let found = blocks.compactMap { block in
                block.reasonNotToRun.map { "\($0): \(block.commands.split(separator: "\n"))" }
            }
            #expect(
                found == [
                    """
                    builds and installs a package: ["make deb", \
                    "sudo apt install ./.build/packages/apus_*.deb"]
                    """,
                    """
                    needs a browser and an account: ["rclone config create drive drive"]
                    """,
                    """
                    needs systemd: ["apus mounts enable cloud", "apus mounts disable cloud"]
                    """,
                    "removes the package: [\"sudo apt remove apus\"]",
                ])
        }

        @Test func `a command that fails, and an output that differs, are noticed`() async throws {
            let guide = try Guide(
                parsing: """
                    ## A wrong guide
                    ```sh
                    apus mont nas
                    ```
                    ```sh
                    echo one
                    echo two
                    ```
                    ```text
                    one
                    three
                    ```
                    <!-- ends with 1 -->
                    ```sh
                    true
                    ```
                    <!-- meanwhile: it rains -->
                    ```sh
                    true
                    ```
                    ```sh
                    cd /; fruit=pear; export fruit
                    ```
                    ```sh
                    echo $fruit in $PWD, and more
                    echo and more
                    ```
                    ```text
                    pear in /…
                    …
                    ```
                    """)
            let section = try #require(guide.sections.first)
            try await GuideWorld.with(section) { world in
                let problems = try section.blocks.map { try world.problem(with: $0) }
                #expect(problems.count == 6)
                #expect(problems[0]?.contains("ended with 2") == true, "\(problems)")
                #expect(problems[1]?.contains("instead of\none\nthree\n") == true, "\(problems)")
                #expect(problems[2]?.contains("ended with 0") == true, "\(problems)")
                #expect(problems[3]?.contains("it rains") == true, "\(problems)")
                #expect(problems[4...].allSatisfy { $0 == nil }, "\(problems)")
            }
        }

        @Test(
            arguments: [
                "## A\ntext\n```sh\ntrue\n", "```sh\ntrue\n```", "## A\n```python\npass\n```",
                "## A\n<!-- not run: no -->\n\n```sh\ntrue\n```",
                "## A\n<!-- no -->\n```sh\ntrue\n```",
                "## A\n```text\noutput\n```", "## A\n```sh\ntrue\n```\ntext\n```text\noutput\n```",
            ])
        func `a block that is not understood is refused`(text: String) {
            #expect(throws: Guide.Mistake.self) { try Guide(parsing: text) }
        }
    }
}
