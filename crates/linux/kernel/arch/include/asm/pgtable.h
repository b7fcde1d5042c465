/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_PGTABLE_H
#define _ASM_SIM_PGTABLE_H

#include <asm-generic/pgtable-nopud.h>
#include <asm/page.h>
#include <asm/processor.h>

#define PAGE_NONE __pgprot(0)
#define PAGE_SHARED __pgprot(0)
#define PAGE_COPY __pgprot(0)
#define PAGE_READONLY __pgprot(0)
#define PAGE_KERNEL __pgprot(0)

#define PTRS_PER_PGD 1
#define PGDIR_SHIFT 22
#define PGDIR_SIZE (1UL << PGDIR_SHIFT)
#define PGDIR_MASK (~(PGDIR_SIZE - 1))

#define VMALLOC_START 0UL
#define VMALLOC_END (~0UL)

#define ZERO_PAGE(vaddr) ((struct page *)NULL)
#define swapper_pg_dir ((pgd_t *)0)

#endif
