/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_PAGE_H
#define _ASM_SIM_PAGE_H

#include <linux/const.h>

/* No page is ever mapped. The tree's headers need these types and sizes, and their inline functions have to compile. */
#define PAGE_SHIFT 12
#define PAGE_SIZE (_AC(1, UL) << PAGE_SHIFT)
#define PAGE_MASK (-PAGE_SIZE)
#define PAGE_OFFSET _AC(0, UL)

#ifndef __ASSEMBLY__

/* A type for each level of page tables. */
#define KS_TABLE_ENTRY(name) typedef struct { unsigned long name; } name##_t
KS_TABLE_ENTRY(pgd);
KS_TABLE_ENTRY(pmd);
KS_TABLE_ENTRY(pte);
KS_TABLE_ENTRY(pgprot);
typedef struct page *pgtable_t;

#define pgd_val(entry) ((entry).pgd)
#define pmd_val(entry) ((entry).pmd)
#define pte_val(entry) ((entry).pte)
#define pgprot_val(entry) ((entry).pgprot)
#define __pgd(value) ((pgd_t){ value })
#define __pte(value) ((pte_t){ value })
#define __pgprot(value) ((pgprot_t){ value })

static inline void clear_page(void *page)
{
	__builtin_memset(page, 0, PAGE_SIZE);
}

static inline void copy_page(void *to, const void *from)
{
	__builtin_memcpy(to, from, PAGE_SIZE);
}

#define clear_user_page(page, user, struct_page) clear_page(page)
#define copy_user_page(to, from, user, struct_page) copy_page(to, from)

/* Physical, virtual and host addresses are the same. */
#define __pa(address) ((unsigned long)(address))
#define __va(address) ((void *)__pa(address))
#define virt_addr_valid(address) 1

static inline unsigned long virt_to_pfn(const void *address)
{
	return __pa(address) / PAGE_SIZE;
}

#define pfn_to_virt(pfn) __va((pfn) * PAGE_SIZE)
#define virt_to_page(address) pfn_to_page(virt_to_pfn(address))
#define page_to_virt(page) pfn_to_virt(page_to_pfn(page))
#define page_to_phys(page) ((phys_addr_t)page_to_pfn(page) * PAGE_SIZE)

#endif

#include <asm-generic/memory_model.h>
#include <asm-generic/getorder.h>

#endif
