//! The reasons of a placement: the policy's notes (`policy/notes.h`), and notes on the wakeup itself.

use fairground_machine::CpuId;
use fairground_sim::{Reason, NO_RULE};

use crate::ffi::*;

/// Notes of this crate; their numbers follow those of the policy's [`NOTES`].
const OWN_NOTES: [&str; 3] =
    ["sync: the waker is about to sleep", "woken from an interrupt", "not kept: {a:further look}"];
const SYNC: usize = 0;
const INTERRUPT: usize = 1;
const LOST: usize = 2;

/// The text of a note of a [`Reason`] from [`reasons`]; empty for an unknown one. It has placeholders for the numbers,
/// see [`fairground_sim::Scheduler::note_text`].
pub fn note_text(note: u16) -> &'static str {
    let note = usize::from(note);
    NOTES.get(note).or_else(|| OWN_NOTES.get(note.checked_sub(NOTES.len())?)).copied().unwrap_or("")
}

/// An empty list of notes for one placement. Takes it from `slot`, where the caller keeps it between placements.
pub(crate) fn take(slot: &mut Option<Box<FgWhy>>) -> Box<FgWhy> {
    let mut why = slot.take().unwrap_or_else(|| Box::new(FgWhy::zeroed()));
    clear(&mut why);
    why
}

/// Makes a list empty.
pub(crate) fn clear(why: &mut FgWhy) {
    (why.nr, why.lost) = (0, 0);
}

/// The reasons of a verdict: what `flags` (`FG_WF_*`) say of the wakeup, then the policy's notes. Rules are numbered as
/// by [`crate::rules`], notes as by [`note_text`].
pub fn reasons(flags: u32, why: &FgWhy) -> impl Iterator<Item = Reason> + '_ {
    let sync = (flags & FG_WF_SYNC != 0).then(|| own(SYNC, 0));
    let interrupt = (flags & FG_WF_IRQ != 0).then(|| own(INTERRUPT, 0));
    let lost = (why.lost > 0).then(|| own(LOST, u64::from(why.lost)));
    let notes = why.note.get(..why.nr as usize).unwrap_or(&why.note);
    sync.into_iter().chain(interrupt).chain(notes.iter().map(reason)).chain(lost)
}

fn reason(note: &FgNote) -> Reason {
    let rule = if u32::from(note.rule) == FG_RULE_NONE { NO_RULE } else { note.rule };
    Reason { note: note.id, rule, cpu: CpuId::try_from(note.cpu).ok(), numbers: [note.a, note.b, note.c] }
}

fn own(note: usize, a: u64) -> Reason {
    Reason { note: (NOTES.len() + note) as u16, rule: NO_RULE, cpu: None, numbers: [a, 0, 0] }
}
