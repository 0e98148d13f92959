import Glibc
import Testing

/// A bucket as a folder, as a user and other programs see it.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct S3MountTests {
    @Test func `a link that others point elsewhere points there here, too`() async throws {
        try await ObjectStore.with(.moto) { store in
            for (name, value) in store.environment { setenv(name, value, 1) }
            defer { for name in store.environment.keys { unsetenv(name) } }
            func point(_ link: String, to target: String) throws {
                try store.python(
                    """
                    s3.put_object(Bucket=bucket, Key='p/' + arguments[0],
                        Body=arguments[1].encode(), Metadata={'mode': '41471'})
                    """, link, target)
            }
            try point("theirs", to: "first")
            var options = MountedFolder.Options()
            options.otherSource = store.source("p")
            options.mount = ["--refresh", "1s"]
            try MountedFolder.with(options) { folder in
                func target(_ link: String) throws -> String {
                    try Program.run("readlink", folder.local(link)).output
                }
                try Program.require("ln", "-s", "first", folder.local("ours"))
                try folder.sync()
                try eventually("it is a link") { try target("theirs") == "first\n" }
                for link in ["theirs", "ours"] {
                    try point(link, to: "second")
                    try eventually("it points elsewhere") { try target(link) == "second\n" }
                }
                try Program.require("mv", folder.local("theirs"), folder.local("moved"))
                try Program.require("rm", folder.local("ours"))
                try folder.sync()
                let keys = try store.python(
                    """
                    print([o['Key'] for o in s3.list_objects_v2(Bucket=bucket)['Contents']])
                    """)
                #expect(keys == "['p/moved']\n")
            }
        }
    }
}
