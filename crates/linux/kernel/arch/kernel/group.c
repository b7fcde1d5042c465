// SPDX-License-Identifier: GPL-2.0-only
/*
 * Task groups without a cgroup file system. The cpu controller's css_alloc() and css_online() make a group, and the
 * write handlers of its cftypes set it.
 */
#include "sim.h"

struct group {
	struct cgroup_subsys_state *css;
	struct css_set set;
	int parent;
};

static struct group *groups[4096];
static int nr_groups;

/* The cgroup of all groups: it has no parent, so cgroup accounting skips it. */
static struct cgroup no_cgroup;

struct css_set init_css_set = {
	.dfl_cgrp = &no_cgroup,
	.refcount = REFCOUNT_INIT(1),
};

/* The cpu controller is enabled, on the default hierarchy (cgroup v2). */
struct static_key_true cpu_cgrp_subsys_on_dfl_key = STATIC_KEY_TRUE_INIT;
struct static_key_true cpu_cgrp_subsys_enabled_key = STATIC_KEY_TRUE_INIT;

/* The group whose file is being written. */
static struct cgroup_subsys_state *written_css;

struct cgroup_subsys_state *of_css(struct kernfs_open_file *of)
{
	return written_css;
}

static struct group *add_group(struct cgroup_subsys_state *css, int parent)
{
	struct group *group = kzalloc(sizeof(*group), GFP_KERNEL);

	css->ss = &cpu_cgrp_subsys;
	css->id = nr_groups + 1;
	css->flags = CSS_ONLINE | CSS_NO_REF;
	INIT_LIST_HEAD(&css->sibling);
	INIT_LIST_HEAD(&css->children);
	group->css = css;
	group->parent = parent;
	refcount_set(&group->set.refcount, 1);
	group->set.dfl_cgrp = &no_cgroup;
	group->set.subsys[cpu_cgrp_id] = css;
	groups[nr_groups++] = group;
	return group;
}

/* The root group: css_alloc(NULL) returns the static root_task_group. The idle tasks and the stoppers are in it. */
void ks_init_groups(void)
{
	struct cgroup_subsys_state *css = cpu_cgrp_subsys.css_alloc(NULL);

	add_group(css, KS_NONE);
	init_css_set.subsys[cpu_cgrp_id] = css;
	RCU_INIT_POINTER(init_task.cgroups, &init_css_set);
	if (cpu_cgrp_subsys.css_online)
		cpu_cgrp_subsys.css_online(css);
}

static struct group *group_of(int number)
{
	if (number < 0 || number >= nr_groups)
		ks_fault(KS_FAULT_HOST, "the host names a task group that does not exist");
	return groups[number];
}

struct css_set *ks_group_set(int number)
{
	return &group_of(number)->set;
}

struct cgroup_subsys_state *ks_group_css(int number)
{
	return group_of(number)->css;
}

int ks_group_number(const struct cgroup_subsys_state *css)
{
	return css->id - 1;
}

int ks_group_parent(int number)
{
	return group_of(number)->parent;
}

int ks_nr_groups(void)
{
	return nr_groups;
}

s32 ks_group_new(s32 number)
{
	struct cgroup_subsys_state *parent = group_of(number)->css, *css;
	int error;

	if (nr_groups == ARRAY_SIZE(groups))
		return -ENOSPC;
	ks_enter(0);
	css = cpu_cgrp_subsys.css_alloc(parent);
	error = PTR_ERR_OR_ZERO(css);
	if (!error) {
		add_group(css, number);
		css->parent = parent;
		list_add_tail_rcu(&css->sibling, &parent->children);
		error = cpu_cgrp_subsys.css_online ? cpu_cgrp_subsys.css_online(css) : 0;
	}
	ks_leave();
	return error ? error : nr_groups - 1;
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

static struct cftype *find_file(const char *name)
{
	struct cftype *file;

	if (strncmp(name, "cpu.", 4))
		return NULL;
	for (file = cpu_cgrp_subsys.dfl_cftypes; file && file->name[0]; file++)
		if (!strcmp(file->name, name + 4))
			return file;
	return NULL;
}

static int write_number(struct cgroup_subsys_state *css, struct cftype *file, const char *value)
{
	u64 u;
	s64 s;
	int error;

	if (file->write_u64) {
		error = kstrtoull(value, 0, &u);
		return error ? error : file->write_u64(css, file, u);
	}
	if (!file->write_s64)
		return -EINVAL;
	error = kstrtoll(value, 0, &s);
	return error ? error : file->write_s64(css, file, s);
}

static int write_text(struct cftype *file, const char *value)
{
	char *text = kstrdup(value, GFP_KERNEL);
	ssize_t written = file->write(NULL, text, strlen(text), 0);

	kfree(text);
	return written < 0 ? written : 0;
}

s32 ks_group_write(s32 group, const char *name, const char *value)
{
	struct cftype *file = find_file(name);
	int error;

	if (!file)
		return -ENOENT;
	ks_enter(0);
	written_css = group_of(group)->css;
	error = file->write ? write_text(file, value) : write_number(written_css, file, value);
	written_css = NULL;
	ks_leave();
	return error;
}

/* ---- cgroup iterators of the controller ------------------------------------------------------------------------- */

struct cgroup_subsys_state *css_next_child(struct cgroup_subsys_state *pos, struct cgroup_subsys_state *parent)
{
	struct list_head *next = pos ? pos->sibling.next : parent->children.next;

	return next == &parent->children ? NULL : list_entry(next, struct cgroup_subsys_state, sibling);
}

struct cgroup_subsys_state *css_next_descendant_pre(struct cgroup_subsys_state *pos, struct cgroup_subsys_state *root)
{
	struct cgroup_subsys_state *next;

	if (!pos)
		return root;
	next = css_next_child(NULL, pos);
	for (; !next && pos != root; pos = pos->parent)
		next = css_next_child(pos, pos->parent);
	return next;
}

struct cgroup_subsys_state *css_rightmost_descendant(struct cgroup_subsys_state *pos)
{
	while (!list_empty(&pos->children))
		pos = list_last_entry(&pos->children, struct cgroup_subsys_state, sibling);
	return pos;
}

/* Iterates the tasks of a group by number: flags holds the next number, cset_pos the group's css. */
void css_task_iter_start(struct cgroup_subsys_state *css, unsigned int flags, struct css_task_iter *it)
{
	memset(it, 0, sizeof(*it));
	it->ss = css->ss;
	it->cset_pos = (struct list_head *)css;
}

struct task_struct *css_task_iter_next(struct css_task_iter *it)
{
	struct cgroup_subsys_state *css = (struct cgroup_subsys_state *)it->cset_pos;
	struct task_struct *p = NULL;

	while (it->flags < ks_nr_tasks()) {
		p = ks_task_if(it->flags++);
		if (p && p->cgroups->subsys[cpu_cgrp_id] == css)
			return p;
	}
	return NULL;
}

void css_task_iter_end(struct css_task_iter *it)
{
}
