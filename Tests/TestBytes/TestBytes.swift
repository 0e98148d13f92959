/// Contents of files for tests.
package enum TestBytes {
    /// Returns bytes that do not compress or repeat, other ones for each seed.
    ///
    /// Most tests run in a debug build, in which `map` calls several functions for each byte: that took up
    /// to 80 % of a test's processor time.
    package static func random(_ count: Int, seed: UInt64 = 0) -> [UInt8] {
        let wordCount = (count + 7) / 8
        let words = [UInt64](unsafeUninitializedCapacity: wordCount) { words, filled in
            var random = SplitMix64(seed: seed)
            var index = 0
            while index < wordCount {
                words[index] = random.next().littleEndian
                index += 1
            }
            filled = wordCount
        }
        return words.withUnsafeBytes { [UInt8]($0.prefix(count)) }
    }
}
