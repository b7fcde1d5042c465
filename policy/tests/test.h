/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A test harness in one header. A test is a function TEST(name) { ... } of CHECKs, run by RUN(name) in main(), which
 * ends with `return test_report();`: prints `N passed, N failed` and fails if one failed.
 */
#ifndef FG_TEST_H
#define FG_TEST_H

#include <stdio.h>

static unsigned test_passed, test_failed, test_bad;

#define TEST(name) static void test_##name(void)

#define CHECK(cond)                                                                                                    \
	do {                                                                                                           \
		if (!(cond)) {                                                                                         \
			printf("%s:%d: %s: not true: %s\n", __FILE__, __LINE__, __func__, #cond);                      \
			test_bad++;                                                                                    \
		}                                                                                                      \
	} while (0)

#define CHECK_EQ(got, want)                                                                                            \
	do {                                                                                                           \
		long long got_ = (long long)(got), want_ = (long long)(want);                                          \
		if (got_ != want_) {                                                                                   \
			printf("%s:%d: %s: %s is %lld, expected %lld\n", __FILE__, __LINE__, __func__, #got, got_,     \
			       want_);                                                                                 \
			test_bad++;                                                                                    \
		}                                                                                                      \
	} while (0)

#define RUN(name)                                                                                                      \
	do {                                                                                                           \
		test_bad = 0;                                                                                          \
		test_##name();                                                                                         \
		test_bad ? test_failed++ : test_passed++;                                                              \
	} while (0)

static int test_report(void)
{
	printf("%u passed, %u failed\n", test_passed, test_failed);
	return test_failed != 0;
}

#endif
