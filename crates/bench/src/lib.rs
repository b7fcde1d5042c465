//! Benchmarks of our own code (`benches/`): `cargo bench -p fairground-bench`. `./test` leaves this crate out.
