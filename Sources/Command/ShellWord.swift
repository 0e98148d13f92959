extension String {
    /// The text as one word of a shell's command line, quoted if necessary.
    var shellWord: String {
        let isPlain = utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                || (UInt8(ascii: "+")...UInt8(ascii: ":")).contains(byte)
                || byte == UInt8(ascii: "_")
        }
        return isPlain ? self : "'\(replacing("'", with: "'\\''"))'"
    }
}
