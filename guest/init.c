// SPDX-License-Identifier: GPL-2.0-only
/*
 * The only program of a guest that plays. As init it mounts what it needs, plays the scenarios of its machine one after the other,
 * prints a line for each, and turns the machine off. README.md has the timeline of a scenario and the columns.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "boot.h"
#include "bpf/watch.h"

#define USEC 1000ull
#define MSEC 1000000ull

/* The timeline, from the instant at which the first task of a scenario starts. */
#define QUIET (500 * MSEC) /* before it: nobody runs, but for */
#define ROUND (100 * MSEC) /* the round, which starts so much before it */
#define ROUND_STEP (6 * MSEC)
#define BURST (2 * MSEC) /* CPU time of the sleeper before it sleeps */
#define WAKE_AT (200 * MSEC)
#define END_AT (220 * MSEC)
#define TICK (4 * MSEC)
#define SEED_PHASE (700 * USEC) /* seed n starts its scenarios so much times n after a tick of the clock */

struct scenario {
	char kind[8]; /* futex, pipe, fork */
	unsigned long hogs; /* a hog is pinned on each of these CPUs */
	int prev; /* where the sleeper slept; fork: not used */
	int waker;
};

/* Shared with the children. */
struct shared {
	int gate; /* the word that the sleeper waits for */
	unsigned long long slept; /* ns of the monotonic clock: the sleeper went to sleep */
};

static struct shared *shared;
static struct watch *watch;
static int nr_cpus;

static void die(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("guest: ");
	vprintf(fmt, args);
	printf(": %s\n", strerror(errno));
	va_end(args);
	turn_off();
	_exit(1);
}

static unsigned long long now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void sleep_until(unsigned long long when)
{
	struct timespec ts = { when / 1000000000, when % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL))
		;
}

static void pin(unsigned long cpus)
{
	if (syscall(SYS_sched_setaffinity, 0, sizeof(cpus), &cpus) < 0)
		die("affinity %lx", cpus);
}

static void unpin(void)
{
	pin((1ul << nr_cpus) - 1);
}

/*
 * A few microseconds of work, then the emulator's turn goes to the next CPU: it runs them one at a time, and would
 * otherwise stay with a busy one until some timer is due, while the interrupts of the others wait.
 */
static void work(void)
{
	for (int i = 0; i < 500; i++)
		asm volatile("");
	asm volatile("yield");
}

/* The child is born on cpu and may not leave it. */
static pid_t fork_on(int cpu, void (*run)(const struct scenario *, unsigned long long), const struct scenario *s,
		     unsigned long long t0)
{
	pid_t pid;

	pin(1ul << cpu);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		run(s, t0);
		_exit(0);
	}
	return pid;
}

static void hog(const struct scenario *s, unsigned long long t0)
{
	(void)s, (void)t0;
	for (;;)
		work();
}

static int pipe_fds[2];

static void sleeper(const struct scenario *s, unsigned long long t0)
{
	char byte;

	(void)t0;
	while (now(CLOCK_THREAD_CPUTIME_ID) < BURST)
		work();
	unpin();
	shared->slept = now(CLOCK_MONOTONIC);
	if (!strcmp(s->kind, "pipe")) {
		if (read(pipe_fds[0], &byte, 1) != 1)
			die("read");
		return;
	}
	while (!__atomic_load_n(&shared->gate, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &shared->gate, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static pid_t victim;

static void waker(const struct scenario *s, unsigned long long t0)
{
	pid_t child;

	sleep_until(t0 + WAKE_AT);
	if (!strcmp(s->kind, "fork")) {
		unpin();
		watch->victim = getpid();
		child = fork();
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
		return;
	}
	watch->victim = victim;
	if (!strcmp(s->kind, "pipe")) {
		if (write(pipe_fds[1], "", 1) != 1)
			die("write");
		return;
	}
	__atomic_store_n(&shared->gate, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &shared->gate, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* A column with a number for each CPU. */
static void print_list(unsigned long long (*get)(const struct watch_cpu *))
{
	for (int cpu = 0; cpu < nr_cpus; cpu++)
		printf("%c%llu", cpu ? ' ' : ',', get(&watch->cpus[cpu]));
}

#define GETTER(field)                                                                                                  \
	static unsigned long long get_##field(const struct watch_cpu *c)                                               \
	{                                                                                                              \
		return c->field;                                                                                       \
	}

GETTER(nr_running)
GETTER(load_avg)
GETTER(util_avg)
GETTER(capacity)
GETTER(nr_idle_scan)
GETTER(nr_busy_cpus)

static unsigned long long get_avg_idle_us(const struct watch_cpu *c)
{
	return c->avg_idle / USEC;
}

static long long us_after(unsigned long long t, unsigned long long start)
{
	return t > start ? (long long)((t - start) / USEC) : 0;
}

/* A row of guest/recorded; @ tells it from whatever else is on the console. */
static void print_row(const struct scenario *s, int seed, unsigned long long t0)
{
	if (!watch->done)
		die("%s %lx %d %d: nobody was placed", s->kind, s->hogs, s->prev, s->waker);
	printf("@%s,0x%02lx,%d,%d,%d,%d", s->kind, s->hogs, s->prev, s->waker, seed, watch->cpu);
	printf(",%d,%lld,%lld", watch->waker_cpu, us_after(shared->slept, t0), us_after(watch->when, t0));
	printf(",%llu,%llu,%d,%u,%u", watch->task_load, watch->task_util, watch->recent_used_cpu, watch->waker_flips,
	       watch->wakee_flips);
	print_list(get_nr_running);
	print_list(get_load_avg);
	print_list(get_util_avg);
	print_list(get_avg_idle_us);
	print_list(get_capacity);
	print_list(get_nr_idle_scan);
	print_list(get_nr_busy_cpus);
	printf("\n");
}

static unsigned long long start_time(int seed)
{
	unsigned long long t = now(CLOCK_MONOTONIC) + QUIET;

	return t - t % TICK + seed * SEED_PHASE;
}

/* Which CPU went idle last decides about forks: every CPU is visited, in the order of their numbers. */
static void make_a_round(unsigned long long t)
{
	for (int cpu = 0; cpu < nr_cpus; cpu++) {
		pin(1ul << cpu);
		sleep_until(t + cpu * ROUND_STEP);
	}
}

static void play(const struct scenario *s, int seed)
{
	pid_t pids[WATCH_CPUS + 2];
	unsigned long long t0;
	int nr = 0;

	memset(watch, 0, sizeof(*watch));
	memset(shared, 0, sizeof(*shared));
	victim = 0;
	if (pipe(pipe_fds) < 0)
		die("pipe");
	t0 = start_time(seed);
	make_a_round(t0 - ROUND);
	pin(1ul << s->waker);
	sleep_until(t0);
	for (int cpu = 0; cpu < nr_cpus; cpu++) {
		if (s->hogs >> cpu & 1)
			pids[nr++] = fork_on(cpu, hog, s, t0);
	}
	if (strcmp(s->kind, "fork"))
		pids[nr++] = victim = fork_on(s->prev, sleeper, s, t0);
	pids[nr++] = fork_on(s->waker, waker, s, t0);
	sleep_until(t0 + END_AT);
	while (nr--) {
		kill(pids[nr], SIGKILL);
		waitpid(pids[nr], NULL, 0);
	}
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	print_row(s, seed, t0);
}

static int play_all(const char *path, int seed)
{
	FILE *f = fopen(path, "r");
	struct scenario s;
	int nr = 0;

	if (!f)
		die("%s", path);
	while (fscanf(f, "%7s %li %d %d", s.kind, (long *)&s.hogs, &s.prev, &s.waker) == 4) {
		play(&s, seed);
		nr++;
	}
	fclose(f);
	return nr;
}

static void start_watching(void)
{
	struct bpf_object *obj = bpf_object__open("/watch.bpf.o");
	struct bpf_program *prog;
	struct bpf_map *map;
	size_t size;

	if (!obj || bpf_object__load(obj))
		die("watch.bpf.o");
	bpf_object__for_each_program(prog, obj)
	{
		if (!bpf_program__attach(prog))
			die("attach %s", bpf_program__name(prog));
	}
	map = bpf_object__find_map_by_name(obj, ".bss");
	watch = map ? bpf_map__initial_value(map, &size) : NULL;
	if (!watch || size < sizeof(*watch))
		die("the programs' memory");
}

static void print_file(const char *path)
{
	char line[256];
	FILE *f = fopen(path, "r");

	if (f && fgets(line, sizeof(line), f))
		printf("# %s: %s", path, line);
	if (f)
		fclose(f);
}

/* What the kernel made of the device tree: capacities, and the domains of the first CPU of each kind. */
static void print_topology(void)
{
	char path[128];

	for (int cpu = 0; cpu < nr_cpus; cpu++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cpu_capacity", cpu);
		print_file(path);
		for (int level = 0; level < 4; level++) {
			snprintf(path, sizeof(path), "/sys/kernel/debug/sched/domains/cpu%d/domain%d/name", cpu, level);
			print_file(path);
			snprintf(path, sizeof(path), "/sys/kernel/debug/sched/domains/cpu%d/domain%d/flags", cpu,
				 level);
			print_file(path);
		}
	}
}

int main(void)
{
	FILE *f;

	mount_all();
	nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if ((f = fopen("/sys/kernel/debug/sched/verbose", "w"))) {
		fputs("Y", f);
		fclose(f);
	}
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("mmap");
	if (number("topology"))
		print_topology();
	if (number("seed")) {
		start_watching();
		printf("# played %d\n", play_all("/scenarios", number("seed")));
	}
	turn_off();
	return 1;
}
