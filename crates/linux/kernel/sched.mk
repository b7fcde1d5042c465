# SPDX-License-Identifier: GPL-2.0-only
# Prints what the tree's own makefiles build of DIR: the objects, those that others are made of in their place, and
# directories with a "/" at the end. Runs in the build directory: make -f ../ks/sched.mk DIR=kernel/sched.
srctree := ..
objtree := .
src := $(srctree)/$(DIR)
obj := $(DIR)
include include/config/auto.conf
-include $(srctree)/scripts/Kbuild.include
-include $(firstword $(wildcard $(srctree)/$(DIR)/Kbuild $(srctree)/$(DIR)/Makefile))

parts = $(strip $($(1:.o=-objs)) $($(1:.o=-y)))
built := $(foreach o,$(obj-y) $(lib-y) $(subdir-y:%=%/),$(if $(filter %.o,$(o)),$(or $(call parts,$(o)),$(o)),$(o)))

.PHONY: fairground-list
.DEFAULT_GOAL := fairground-list
fairground-list:
	@echo $(built)
