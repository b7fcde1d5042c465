// SPDX-License-Identifier: GPL-2.0-only
/* v5.11: wake flags WF_EXEC, WF_FORK and WF_TTWU for the kinds of placement. */
#include "tree.h"

int ks_probe = WF_EXEC | WF_FORK | WF_TTWU;
