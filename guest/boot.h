/* SPDX-License-Identifier: GPL-2.0-only */
/* What a program needs that a guest runs as init. */
#ifndef BOOT_H
#define BOOT_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/reboot.h>

static inline void mount_all(void)
{
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sys", "/sys", "sysfs", 0, NULL);
	mount("dev", "/dev", "devtmpfs", 0, NULL);
	mount("debug", "/sys/kernel/debug", "debugfs", 0, NULL);
}

/* NAME=N on the kernel's command line; 0 without. */
static inline int number(const char *name)
{
	const char *value = getenv(name);

	return value ? atoi(value) : 0;
}

static inline void turn_off(void)
{
	fflush(stdout);
	reboot(RB_POWER_OFF);
}

#endif
