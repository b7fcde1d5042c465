/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a placement notes for whoever asks why, as people read it: FG_NOTE(id, text)
 * In a text {cpu} is the note's CPU, {a}, {b} and {c} its numbers. A text is a clause without a full stop: outputs
 * put the rule that was being tried in front of it.
 */

/* Any look at a CPU. */
FG_NOTE(FREE, "CPU {cpu} is free")
FG_NOTE(BUSY, "CPU {cpu} is busy with {a} tasks")
FG_NOTE(WANTS, "it wants a utilization of {a}, at least {b} and at most {c}")
FG_NOTE(FITS, "CPU {cpu} fits: utilization {a} on capacity {b}")
FG_NOTE(FITS_CAPPED, "CPU {cpu} fits: at most {a} is asked for, its capacity is {b}")
FG_NOTE(TOO_SMALL, "CPU {cpu} is too small: utilization {a} on capacity {b}")
FG_NOTE(BELOW_MIN, "CPU {cpu} is smaller than the minimum: {a} is asked for, its capacity is {b}")
FG_NOTE(ALMOST_FITS, "CPU {cpu} fits but for the minimum: {a} is asked for, its capacity is {b}")
FG_NOTE(FAR, "CPU {cpu} shares no last-level cache with CPU {a}")
FG_NOTE(FORBIDDEN, "CPU {cpu} is not allowed")
FG_NOTE(SAME, "CPU {cpu} was looked at already")
