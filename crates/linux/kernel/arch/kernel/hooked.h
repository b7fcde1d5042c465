/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls of a static function of the tree's text, taken from the outside. A function-like macro of the function's name
 * meets both its definition and the calls of it; what tells them apart is the first token of an argument, which is
 * a type in the definition:
 *
 *	#define f(a, ...) KS_HOOKED(KS_TYPE_##a, f)(a, ##__VA_ARGS__)
 *
 * then reads tree_f(...) in the definition, and in a call hook_f(__func__, ...), which is ours and calls tree_f. Hooks are
 * noinline: one that nobody calls is not in the objects, by which a build knows that a tree does not have the function
 * (see ../../hooked); tree_f is declared all the same, so that the hook compiles.
 */
#ifndef KS_HOOKED_H
#define KS_HOOKED_H

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
