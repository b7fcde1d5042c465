// SPDX-License-Identifier: GPL-2.0-only
/* Small library functions whose own files in the tree would need too much else. */
#include "sim.h"
#include <linux/ctype.h>
#include <linux/prandom.h>
#include <linux/refcount.h>
#include <linux/string.h>
#include <linux/uaccess.h>

/* strscpy(): bytes copied, or -E2BIG if the text was cut. The tree's headers choose one of the two names below. */
ssize_t ks_strscpy(char *to, const char *from, size_t size);
ssize_t ks_strscpy(char *to, const char *from, size_t size)
{
	size_t n = strnlen(from, size);

	if (!size)
		return -E2BIG;
	if (n == size)
		n--;
	memmove(to, from, n);
	to[n] = 0;
	return from[n] ? -E2BIG : n;
}

ssize_t ks_sized_strscpy(char *to, const char *from, size_t size) asm("sized_strscpy") __alias(ks_strscpy);
ssize_t ks_plain_strscpy(char *to, const char *from, size_t size) asm("strscpy") __alias(ks_strscpy);

char *skip_spaces(const char *s)
{
	while (isspace(*s))
		s++;
	return (char *)s;
}

char *strim(char *s)
{
	size_t n = strlen(s);

	while (n && isspace(s[n - 1]))
		n--;
	s[n] = 0;
	return skip_spaces(s);
}

ktime_t ktime_add_safe(const ktime_t a, const ktime_t b)
{
	ktime_t sum = ktime_add_unsafe(a, b);

	return sum < 0 || sum < a || sum < b ? KTIME_MAX : sum;
}

unsigned long __msecs_to_jiffies(const unsigned int ms)
{
	return DIV_ROUND_UP_ULL((u64)ms * HZ, MSEC_PER_SEC);
}

u32 prandom_u32_state(struct rnd_state *state)
{
	return get_random_u32();
}

void refcount_warn_saturate(refcount_t *r, enum refcount_saturation_type type)
{
	WARN(1, "a reference count is used wrongly (%d)", (int)type);
}

void __copy_overflow(int size, unsigned long count)
{
	WARN(1, "%lu bytes are copied into %d", count, size);
}

unsigned long _copy_from_user(void *to, const void __user *from, unsigned long n)
{
	return raw_copy_from_user(to, from, n);
}

unsigned long _copy_to_user(void __user *to, const void *from, unsigned long n)
{
	return raw_copy_to_user(to, from, n);
}

/* "12.34" gives 1234 with digits = 2. */
int cgroup_parse_float(const char *text, unsigned int digits, s64 *value)
{
	s64 v = 0;
	unsigned int behind = 0;
	bool point = false, any = false;

	for (; *text; text++) {
		if (*text == '.' && !point) {
			point = true;
			continue;
		}
		if (!isdigit(*text) || v > S64_MAX / 100)
			return -EINVAL;
		any = true;
		if (behind < digits)
			v = v * 10 + *text - '0';
		behind += point && behind < digits;
	}
	for (; behind < digits; behind++)
		v *= 10;
	*value = v;
	return any ? 0 : -EINVAL;
}
