// SPDX-License-Identifier: GPL-2.0-only
/* v6.6: the wakee should run on its waker's CPU. */
#include "tree.h"

int ks_probe = WF_CURRENT_CPU;
