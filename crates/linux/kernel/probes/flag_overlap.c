// SPDX-License-Identifier: GPL-2.0-only
/* Up to v6.16: domains of NUMA levels have a flag SD_OVERLAP beside SD_NUMA. */
#include "tree.h"

int ks_probe = SD_OVERLAP;
