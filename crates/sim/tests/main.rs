//! All tests of the crate from outside: one program, which is linked once.

mod bad_schedulers;
mod builtins;
mod distance;
mod drawn_floors;
mod hotplug;
mod idle;
mod idle_calls;
mod measuring;
mod own_timers;
mod power;
mod properties;
mod recorded;
mod scenarios;
mod spread;
mod timer_slack;
mod warmth;
