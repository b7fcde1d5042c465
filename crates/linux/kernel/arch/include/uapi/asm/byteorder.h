/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#include <linux/byteorder/big_endian.h>
#else
#include <linux/byteorder/little_endian.h>
#endif
