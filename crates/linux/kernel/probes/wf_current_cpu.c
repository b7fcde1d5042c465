// SPDX-License-Identifier: GPL-2.0-only
/* v6.6: the wakee is to run where its waker does. */
#include "tree.h"

int ks_probe = WF_CURRENT_CPU;
