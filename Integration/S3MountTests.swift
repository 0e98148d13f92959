import Foundation
import Glibc
import Testing

/// A bucket as a folder, as a user and other programs see it.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct S3MountTests {
    @Test func `what is written in a mounted bucket is there for others, and the reverse`()
        async throws
    {
        try await ObjectStore.with(.seaweedFS) { store in
            // The daemon has our environment.
            for (name, value) in store.environment { setenv(name, value, 1) }
            defer { for name in store.environment.keys { unsetenv(name) } }
            try store.python(
                """
                s3.put_object(Bucket=bucket, Key='p/theirs/deep.txt', Body=b'before')
                """)
            var options = MountedFolder.Options()
            options.otherSource = store.source("p")
            options.mount = ["--refresh", "1s"]
            try MountedFolder.with(options) { folder in
                #expect(try Files.read(folder.local("theirs/deep.txt")) == Array("before".utf8))
                try Files.makeDirectory(folder.local("ours"))
                try Files.write(Array("hello".utf8), to: folder.local("ours/new.txt"))
                try Program.require("ln", "-s", "new.txt", folder.local("ours/link"))
                try Program.require("chmod", "600", folder.local("ours/new.txt"))
                try folder.sync()
                try Program.require("mv", folder.local("ours"), folder.local("moved"))
                try folder.sync()
                try folder.unmount()
                let seen = try store.python(
                    """
                    print(s3.get_object(Bucket=bucket, Key='p/moved/new.txt')['Body'].read().decode())
                    print(s3.head_object(Bucket=bucket, Key='p/moved/new.txt')['Metadata']['mode'])
                    print(s3.get_object(Bucket=bucket, Key='p/moved/link')['Body'].read().decode())
                    print('ours' in str(s3.list_objects_v2(Bucket=bucket, Prefix='p/')))
                    s3.put_object(Bucket=bucket, Key='p/theirs/deep.txt', Body=b'after that')
                    s3.put_object(Bucket=bucket, Key='p/theirs/added', Body=b'x')
                    """)
                #expect(seen == "hello\n33152\nnew.txt\nFalse\n")
                try folder.mount()
                try eventually("their change is here") {
                    try Files.holds(Array("after that".utf8), at: folder.local("theirs/deep.txt"))
                }
                // A look at one file may learn of its change before the listing tells of others.
                try eventually("what they added is here") {
                    Files.exists(folder.local("theirs/added"))
                }
                #expect(try Files.read(folder.local("theirs/added")) == Array("x".utf8))
                #expect(try Files.read(folder.local("moved/link")) == Array("hello".utf8))
            }
        }
    }
}
