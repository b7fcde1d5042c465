//! What testers of energy-aware scheduling ask of a kernel (the conditions are LISA's), as scenarios of our own:
//! docs/scenarios.md lists them.
//!
//! | module | what |
//! |---|---|
//! | `eas`, `misfit`, `util_est`, `clamps` | the scenarios, one file a family |
//! | `scenario` | a scenario, and how it is checked: the right policy passes, each wrong one fails |
//! | `wrong` | policies that are wrong on purpose |
//! | `bench`, `seen` | one run under our scheduler or the real kernel's, and what was seen of it |
//! | `tasks` | periodic threads whose duty changes by phases |
//! | `optimum` | power of a placement, and the best one by trying all |
//! | `recorded` | the same conditions, of traces that a kernel wrote |
//!
//! Where `FAIRGROUND_LIBKSCHED` names a kernel of 6.12 that was built from its tree, everything is asked of that, too.

mod bench;
mod clamps;
mod eas;
mod misfit;
mod optimum;
mod recorded;
mod scenario;
mod seen;
mod tasks;
mod util_est;
mod wrong;
