// SPDX-License-Identifier: GPL-2.0-only
/* placements told apart by wake flags (v5.17): WF_EXEC, WF_FORK, WF_TTWU */
#include "../probes/tree.h"

int ks_probe = WF_EXEC | WF_FORK | WF_TTWU;
