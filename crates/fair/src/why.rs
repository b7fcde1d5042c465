//! Why a placement ended where it did: the policy's own notes, and the circumstances around them, told to [`Env`].

use fairground_machine::CpuId;
use fairground_sim::{Env, Reason, NO_RULE};

use crate::ffi::*;
use crate::world::WakeArgs;

/// What this crate notes; numbered behind the policy's [`NOTES`].
const OWN_NOTES: [&str; 3] =
    ["sync: the waker is about to sleep", "woken from an interrupt", "not kept: {a:further look}"];
const SYNC: usize = 0;
const INTERRUPT: usize = 1;
const LOST: usize = 2;

/// The words of a note; empty for an unknown one.
pub(crate) fn note_text(note: u16) -> &'static str {
    let note = usize::from(note);
    NOTES.get(note).or_else(|| OWN_NOTES.get(note.checked_sub(NOTES.len())?)).copied().unwrap_or("")
}

/// An empty list for one placement, kept in `slot` between placements.
pub(crate) fn take(slot: &mut Option<Box<FgWhy>>) -> Box<FgWhy> {
    let mut why = slot.take().unwrap_or_else(|| Box::new(FgWhy::zeroed()));
    (why.nr, why.lost) = (0, 0);
    why
}

/// Tells what led to a verdict: the circumstances, then what the policy looked at.
pub(crate) fn tell(env: &mut Env, args: &WakeArgs, why: &FgWhy) {
    if args.flags & FG_WF_SYNC != 0 {
        env.reason(own(SYNC, 0));
    }
    if args.flags & FG_WF_IRQ != 0 {
        env.reason(own(INTERRUPT, 0));
    }
    let notes = why.note.get(..why.nr as usize).unwrap_or(&why.note);
    notes.iter().for_each(|note| env.reason(reason(note)));
    if why.lost > 0 {
        env.reason(own(LOST, u64::from(why.lost)));
    }
}

fn reason(note: &FgNote) -> Reason {
    let rule = if u32::from(note.rule) == FG_RULE_NONE { NO_RULE } else { note.rule };
    Reason { note: note.id, rule, cpu: CpuId::try_from(note.cpu).ok(), numbers: [note.a, note.b, note.c] }
}

fn own(note: usize, a: u64) -> Reason {
    Reason { note: (NOTES.len() + note) as u16, rule: NO_RULE, cpu: None, numbers: [a, 0, 0] }
}
