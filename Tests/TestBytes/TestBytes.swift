/// Contents of files for tests.
package enum TestBytes {
    /// Returns bytes that do not compress or repeat, other ones for each seed: the output of SplitMix64.
    ///
    /// Most tests run in a debug build, in which `map` calls several functions for each byte: that took up
    /// to 80 % of a test's processor time.
    package static func random(_ count: Int, seed: UInt64 = 0) -> [UInt8] {
        let wordCount = (count + 7) / 8
        let words = [UInt64](unsafeUninitializedCapacity: wordCount) { words, filled in
            var state = seed
            var index = 0
            while index < wordCount {
                state &+= 0x9E37_79B9_7F4A_7C15
                var mixed = state
                mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
                mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
                words[index] = (mixed ^ (mixed >> 31)).littleEndian
                index += 1
            }
            filled = wordCount
        }
        return words.withUnsafeBytes { [UInt8]($0.prefix(count)) }
    }
}
