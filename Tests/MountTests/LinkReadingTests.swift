import CFuse
import Glibc
import Testing

@testable import Mount

struct LinkReadingTests {
    @Test
    func `only readlink and readlinkat count as reading a link`() {
        #expect(LinkReading.isReading("\(apus_readlink) 0x7ffd 0x55 0x80 0x0 0x0 0x0 0x7f 0x7f\n"))
        #expect(LinkReading.isReading("\(apus_readlinkat) 0xffffff9c 0x55 0x80\n"))
        for text in ["\(SYS_openat) 0xffffff9c 0x55", "-1 0x7ffd 0x7f", "running\n", ""] {
            #expect(!LinkReading.isReading(text), "\(text)")
        }
    }

    @Test
    func `an unknown thread, or one in another system call, does not read a link`() {
        #expect(!LinkReading.isShown(to: 0))
        #expect(!LinkReading.isShown(to: pid_t.max))
        // The first thread waits for the tests to end.
        #expect(!LinkReading.isShown(to: getpid()))
    }
}
