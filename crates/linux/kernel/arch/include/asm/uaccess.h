/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_UACCESS_H
#define _ASM_SIM_UACCESS_H

#include <linux/string.h>

/* There is no user space: user pointers are pointers into the same memory. */
static inline unsigned long ks_copy(void *to, const void *from, unsigned long n)
{
	memcpy(to, from, n);
	return 0;
}

#define raw_copy_from_user(to, user, n) ks_copy(to, (const void __force *)(user), n)
#define raw_copy_to_user(user, from, n) ks_copy((void __force *)(user), from, n)

#define __access_ok(addr, size) 1
#define __get_user(x, ptr) ({ (x) = *(ptr); 0; })
#define __put_user(x, ptr) ({ *(ptr) = (x); 0; })
#define get_user __get_user
#define put_user __put_user

#define __clear_user(user, n) (memset((void __force *)(user), 0, n), 0UL)
#define clear_user __clear_user

long strncpy_from_user(char *to, const char __user *from, long n);
long strnlen_user(const char __user *s, long n);

#if __has_include(<asm-generic/access_ok.h>)
#include <asm-generic/access_ok.h>
#else
#define access_ok(addr, size) __access_ok(addr, size)
#endif

#endif
