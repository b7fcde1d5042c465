#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes the policy's pointers arena pointers: reads LLVM IR (clang -S -emit-llvm), writes LLVM IR.

The policy keeps its state in structs that point to each other. In BPF such memory is an arena, and the compiler has to
say of each pointer that comes out of memory that it is one: address_space(1) in C, on every declaration. That would be
on nearly every line of the policy and mean nothing to any other compiler, so it is added here, after the fact:

- a pointer loaded from memory, whatever the memory: nothing in the policy keeps a pointer to its own stack in memory;
- the state_arg of a global function (see policy/sched.h): the verifier takes it for a number. A frame_arg, which is a
  pointer to a caller's stack, is told by its attribute nonnull.
"""

import re
import sys


def state_arguments(line):
    """Names of the pointers that a global function gets, those to the stack of a caller left out."""
    arguments = line[line.index("(", line.index("@")) :].split(",")
    for text in arguments:
        if re.match(r"\(? *ptr ", text) and " nonnull " not in text:
            yield re.search(r"%(\d+)", text).group(1)


def to_arena(name, value):
    return f"  %{name} = addrspacecast ptr addrspace(1) %{value} to ptr\n"


def translate(lines):
    state = []
    for line in lines:
        if line.startswith("define dso_local ") and 'section "' not in line:
            state = list(state_arguments(line))
            yield line
            for n in state:
                yield f"  %number{n} = ptrtoint ptr %{n} to i64\n"
                yield f"  %user{n} = inttoptr i64 %number{n} to ptr addrspace(1)\n"
                yield to_arena(f"state{n}", f"user{n}")
            continue
        if line.startswith("}"):
            state = []
        for n in state:
            line = re.sub(rf"%{n}\b", f"%state{n}", line)
        loaded = re.match(r"  %(\d+) = load ptr, (.*)", line)
        if loaded:
            n, rest = loaded.groups()
            yield f"  %user{n} = load ptr addrspace(1), {rest}\n"
            yield to_arena(n, f"user{n}")
        else:
            yield line


sys.stdout.writelines(translate(sys.stdin))
