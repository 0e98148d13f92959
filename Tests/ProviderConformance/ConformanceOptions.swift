/// What a run of the suite needs to know of a store beyond its traits.
package struct ConformanceOptions: Sendable {
    /// How many entries make a directory that takes more than one page.
    package var entriesOfSeveralPages = 1_100
    /// How many bytes make a transfer of several pieces.
    package var bytesOfSeveralPieces = 8 << 20
    /// Whether names that are no UTF-8 can be stored; a store that cannot must refuse them.
    package var keepsAnyBytesInNames = true

    package init() {}
}
