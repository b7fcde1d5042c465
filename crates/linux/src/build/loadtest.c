/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loads a built kernel as its host will, but asks it nothing: whether it resolves, and speaks this border. Prints
 * CPUs, HZ and release; what is wrong goes to standard error.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "ks.h"

int main(int argc, char **argv)
{
	const struct ks_kernel *(*get)(void);
	const struct ks_kernel *kernel;
	void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&get = dlsym(library, "ks_kernel");
	if (!get) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	kernel = get();
	if (kernel->size != sizeof(*kernel) || kernel->abi != KS_ABI) {
		fprintf(stderr, "border %u of %llu bytes, expected %u of %zu\n", kernel->abi,
			(unsigned long long)kernel->size, KS_ABI, sizeof(*kernel));
		return 1;
	}
	printf("%u %u %s\n", kernel->max_cpus, kernel->hz, kernel->release);
	return 0;
}
