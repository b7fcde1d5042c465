#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes the policy's pointers arena pointers: reads LLVM IR (clang -S -emit-llvm), writes LLVM IR.

The policy keeps its state in structs that point to each other. In BPF such memory is an arena, and the compiler has to
say of each pointer that comes out of memory that it is one: address_space(1) in C, on every declaration. That would be
on nearly every line of the policy and mean nothing to any other compiler, so it is added here, after the fact:

- A pointer that is loaded from memory, whatever the memory, is one of the arena: nothing keeps a pointer to its own stack
  in memory. Not one that is loaded by CO-RE (llvm.bpf.passthrough): that is the kernel's.
- So is the state_arg of a global function (see policy/sched.h), which the verifier takes for a number. A frame_arg, a
  pointer to a caller's stack, is told by its attribute nonnull.
- So is null, where it is one of several values that a pointer may have. Otherwise the verifier follows that value to
  its uses, and finds a number in the place of a pointer.
- In a register an arena pointer is the lower half of what user space sees. The rest is added where one is stored.
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


def with_null(line):
    """The line with an arena's null in the place of null, where it matters."""
    if "= phi ptr " in line:
        return line.replace("[ null, ", "[ %arena_null, ")
    if re.match(r"  (ret ptr|%\S+ = select|(%\S+ = )?(tail )?call) ?", line):
        return re.sub(r"\bptr null\b", "ptr %arena_null", line)
    return line


class Function:
    """A function: its lines are translated one by one, and written when it ends."""

    def __init__(self, line):
        has_state = line.startswith("define dso_local ") and 'section "' not in line
        self.lines = [line]
        self.state = list(state_arguments(line)) if has_state else []
        self.kernel = set()
        self.null_used = False
        self.stores = 0
        for n in self.state:
            self.lines.append(f"  %number{n} = ptrtoint ptr %{n} to i64\n")
            self.lines.append(f"  %user{n} = inttoptr i64 %number{n} to ptr addrspace(1)\n")
            self.lines.append(to_arena(f"state{n}", f"user{n}"))

    def add(self, line):
        for n in self.state:
            line = re.sub(rf"%{n}\b", f"%state{n}", line)
        through = re.match(r"  %(\d+) = (?:tail )?call ptr @llvm\.bpf\.passthrough", line)
        if through:
            self.kernel.add(through.group(1))
        changed = with_null(line)
        self.null_used |= changed != line
        loaded = re.match(r"  %(\d+) = load ptr, (ptr %(\d+)\b.*|.*)", changed, re.S)
        stored = re.match(r"  store ptr (%[\w.]+), (.*)", changed, re.S)
        if loaded and loaded.group(3) not in self.kernel:
            n, rest = loaded.group(1, 2)
            self.lines.append(f"  %user{n} = load ptr addrspace(1), {rest}")
            self.lines.append(to_arena(n, f"user{n}"))
        elif stored:
            value, rest = stored.groups()
            self.stores += 1
            self.lines.append(f"  %stored{self.stores} = addrspacecast ptr {value} to ptr addrspace(1)\n")
            self.lines.append(f"  store ptr addrspace(1) %stored{self.stores}, {rest}")
        else:
            self.lines.append(changed)

    def write(self, out):
        out.write(self.lines[0])
        if self.null_used:
            out.write('  %arena_zero = call i64 asm sideeffect "$0 = 0", "=r"()\n')
            out.write("  %user_null = inttoptr i64 %arena_zero to ptr addrspace(1)\n")
            out.write(to_arena("arena_null", "user_null"))
        out.writelines(self.lines[1:])


function = None
for text in sys.stdin:
    if text.startswith("define "):
        function = Function(text)
    elif function is None:
        sys.stdout.write(text)
    elif text.startswith("}"):
        function.write(sys.stdout)
        function = None
        sys.stdout.write(text)
    else:
        function.add(text)
