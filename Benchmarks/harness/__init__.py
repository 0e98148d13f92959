"""The parts of `Benchmarks/bench`. Standard library only."""
