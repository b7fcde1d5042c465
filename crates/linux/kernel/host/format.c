// SPDX-License-Identifier: GPL-2.0-only
/*
 * Formats printk's text. Conversions are passed to libc one at a time: libc does not know %*pbl, and a va_list is
 * indeterminate after vsnprintf(). Bitmaps (%*pbl) print as lists of bits (0-3,7); other letters after %p are ignored.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "format.h"

#define SPEC 64
#define WORD (8 * (int)sizeof(unsigned long))

struct out {
	char *to;
	size_t size, n;
};

static void put(struct out *out, const char *fmt, ...)
{
	va_list args;
	int n;

	if (out->n >= out->size)
		return;
	va_start(args, fmt);
	n = vsnprintf(out->to + out->n, out->size - out->n, fmt, args);
	va_end(args);
	out->n += n > 0 ? (size_t)n : 0;
}

static int has_bit(const unsigned long *bits, int at)
{
	return bits[at / WORD] >> at % WORD & 1;
}

static void put_list(struct out *out, const unsigned long *bits, int n)
{
	const char *between = "";
	int at, end;

	for (at = 0; at < n; at = end + 1) {
		for (end = at; end < n && has_bit(bits, end); end++)
			;
		if (end == at)
			continue;
		put(out, "%s%d", between, at);
		if (end > at + 1)
			put(out, "-%d", end - 1);
		between = ",";
	}
}

/* Prints a pointer. Returns the rest of the format, after the letters that follow %p. */
static const char *put_pointer(struct out *out, const char *fmt, const void *p, int width)
{
	if (fmt[1] == 'b')
		put_list(out, p, width);
	else
		put(out, "%p", p);
	do
		fmt++;
	while (isalnum((unsigned char)*fmt));
	return fmt;
}

/* Prints the conversion that begins at fmt. Returns the rest of the format. */
static const char *convert(struct out *out, const char *fmt, va_list *args)
{
	char spec[SPEC];
	struct out form = { spec, SPEC, 0 };
	int width = 0, wide = 0;

	put(&form, "%%");
	for (fmt++; *fmt && strchr("-+ #0123456789.*hlzjt", *fmt); fmt++) {
		if (*fmt == '*')
			put(&form, "%d", width = va_arg(*args, int));
		else if (strchr("lzjt", *fmt))
			wide = 1;
		else
			put(&form, "%c", *fmt);
	}
	if (wide)
		put(&form, "ll");
	put(&form, "%c", *fmt);
	switch (*fmt) {
	case 0:
		return fmt;
	case 'p':
		return put_pointer(out, fmt, va_arg(*args, void *), width);
	case 's':
		put(out, spec, va_arg(*args, char *));
		break;
	case '%':
		put(out, "%%");
		break;
	default:
		if (wide)
			put(out, spec, va_arg(*args, long long));
		else
			put(out, spec, va_arg(*args, int));
	}
	return fmt + 1;
}

void ks_format(char *to, size_t size, const char *fmt, va_list args)
{
	struct out out = { to, size, 0 };
	va_list rest;

	put(&out, "");
	va_copy(rest, args);
	while (*fmt) {
		size_t plain = strcspn(fmt, "%");

		put(&out, "%.*s", (int)plain, fmt);
		fmt += plain;
		if (*fmt)
			fmt = convert(&out, fmt, &rest);
	}
	va_end(rest);
}
