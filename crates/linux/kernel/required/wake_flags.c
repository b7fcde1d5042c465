// SPDX-License-Identifier: GPL-2.0-only
/* wake flags for the kind of placement (v5.17): WF_EXEC, WF_FORK, WF_TTWU */
#include "../probes/tree.h"

int ks_probe = WF_EXEC | WF_FORK | WF_TTWU;
