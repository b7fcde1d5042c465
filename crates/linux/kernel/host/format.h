/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KS_FORMAT_H
#define KS_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

/* vsnprintf() with printk's extensions. */
void ks_format(char *to, size_t size, const char *fmt, va_list args);

#endif
