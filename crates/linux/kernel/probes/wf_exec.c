// SPDX-License-Identifier: GPL-2.0-only
/* v5.17: placements are told apart by wake flags. */
#include "tree.h"

int ks_probe = WF_EXEC | WF_FORK | WF_TTWU;
