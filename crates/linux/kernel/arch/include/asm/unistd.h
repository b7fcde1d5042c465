/* SPDX-License-Identifier: GPL-2.0-only */
#include <uapi/asm/unistd.h>
