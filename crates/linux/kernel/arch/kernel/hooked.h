/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Redirects the calls of a static function f of the tree to a hook, without a change of the tree. The macro
 *
 *	#define f(a, ...) KS_HOOKED(KS_TYPE_##a, f)(a, ##__VA_ARGS__)
 *
 * replaces f both in its definition and in its calls. In the definition the argument starts with a type, for which
 * KS_TYPE_<type> is defined, below or in the hook's own header: there f expands to tree_f(...). In a call it expands to
 * hook_f(__func__, ...); the hook is ours and calls tree_f(). Hooks are noinline: the compiler drops a hook that is
 * never called, and by its absence from the objects a build detects that a tree does not have the function (see
 * ../../hooked). tree_f is declared in any case, so that the hook compiles.
 */
#ifndef KS_HOOKED_H
#define KS_HOOKED_H

#define KS_TYPE_int ~, KS_DEFINITION,
#define KS_TYPE_u64 ~, KS_DEFINITION,
#define KS_TYPE_struct ~, KS_DEFINITION,
#define KS_TYPE_unsigned ~, KS_DEFINITION,

#define KS_SECOND_(a, b, ...) b
#define KS_SECOND(...) KS_SECOND_(__VA_ARGS__)
#define KS_DEFINITION(f) tree_##f KS_ARGUMENTS
#define KS_CALL(f) hook_##f KS_ARGUMENTS_AND_CALLER
#define KS_ARGUMENTS(...) (__VA_ARGS__)
#define KS_ARGUMENTS_AND_CALLER(...) (__func__, __VA_ARGS__)

#define KS_HOOKED(probe, f) KS_SECOND(probe, KS_CALL, ~)(f)

#endif
