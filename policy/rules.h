/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rules a placement can end with, named as the tables of the behaviour specification:
 * FG_RULE(id, name, text)
 */
FG_RULE(NONE, "none", "no rule applied")
