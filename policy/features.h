/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every deviation between kernel versions and every patch under discussion, one line each:
 * FG_FEATURE(id, name, values, mail, since, text)
 *   values  "" for a switch (0 or 1), else the words for 0, 1, 2 ... separated by |
 *   mail    first three digits of the mail that discusses it, or "-"
 *   since   release that has it by default
 * The presets in crates/fair say which value each release has.
 */
FG_FEATURE(ASYM_SCAN, "asym-scan", "", "000", "v5.7",
	   "wakeups on asymmetric machines scan for an idle CPU that fits instead of taking the slow path")
FG_FEATURE(ASYM_PREV_FIRST, "asym-prev-first", "", "000", "v5.10",
	   "try target, previous and recent CPU with a capacity test before the asymmetric scan")
