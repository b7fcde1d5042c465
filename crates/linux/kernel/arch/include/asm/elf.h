/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_ELF_H
#define _ASM_SIM_ELF_H

#include <asm/ptrace.h>

#define ELF_CLASS ELFCLASS64
#define ELF_DATA ELFDATA2LSB
#define ELF_ARCH EM_NONE
#define ELF_PLAT_INIT(regs, load_addr)
#define ELF_EXEC_PAGESIZE 4096
#define ELF_NGREG 1
#define elf_check_arch(x) 0

typedef unsigned long elf_greg_t;
typedef elf_greg_t elf_gregset_t[ELF_NGREG];
typedef unsigned long elf_fpregset_t;

#endif
