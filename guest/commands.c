// SPDX-License-Identifier: GPL-2.0-only
/*
 * The init of a guest that runs programs: mounts what they need, carries out /commands line by line, and turns the machine
 * off. A line is a program and its arguments with spaces between, or one of
 *
 *	& PROGRAM ...	goes on without waiting for it
 *	stop SIGNAL	sends the last such program that has not been stopped a signal by its number, 0: none, and waits for it
 *	write FILE TEXT	writes the word to the file
 *	mkdir DIR	makes the directory: in /sys/fs/cgroup a cgroup
 *	print FILE	writes the file to the console
 *	deadline RUNTIME PERIOD
 *			instead of a PROGRAM: a SCHED_DEADLINE task that would compute all the time; us
 *	await FILE WORD	waits until the file consists of this word, ten minutes at most
 *
 * After each program `= N` says how it ended: its exit status, or less than 0: the signal that killed it.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "boot.h"

#define MAX_WORDS 64
#define MAX_PROGRAMS 16

static pid_t programs[MAX_PROGRAMS];
static int nr_programs;

static void wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) != pid)
		;
	printf("= %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
	fflush(stdout);
}

/* 0: it does not, after ten minutes. */
static int await(const char *path, const char *word)
{
	char found[64];
	int i;

	for (i = 0; i < 6000; i++) {
		FILE *file = fopen(path, "r");
		int is = file && fscanf(file, "%63s", found) == 1 && !strcmp(found, word);

		if (file)
			fclose(file);
		if (is)
			return 1;
		usleep(100000);
	}
	return 0;
}

/* 0: it failed. */
static int write_word(const char *path, const char *word)
{
	FILE *file = fopen(path, "w");
	int put;

	if (!file)
		return 0;
	put = fputs(word, file) >= 0;
	return fclose(file) == 0 && put;
}

/* 0: it failed. */
static int print(const char *path)
{
	static char bytes[65536];
	FILE *file = fopen(path, "r");
	size_t got;

	if (!file)
		return 0;
	while ((got = fread(bytes, 1, sizeof(bytes), file)))
		fwrite(bytes, 1, got, stdout);
	return !fclose(file);
}

/* Returns if the kernel refuses. */
static void compute_as_deadline_task(const char *runtime, const char *period)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = { .size = sizeof(attr), .policy = 6 /* SCHED_DEADLINE */ };

	attr.runtime = strtoull(runtime, NULL, 10) * 1000;
	attr.deadline = attr.period = strtoull(period, NULL, 10) * 1000;
	if (syscall(SYS_sched_setattr, 0, &attr, 0))
		return;
	for (volatile unsigned turns = 0;; turns++)
		;
}

static void carry_out(char *line)
{
	char *words[MAX_WORDS + 1], *word;
	int nr = 0, waits = line[0] != '&';
	pid_t pid;

	printf("$ %s\n", line);
	fflush(stdout);
	for (word = strtok(line + !waits, " "); word && nr < MAX_WORDS; word = strtok(NULL, " "))
		words[nr++] = word;
	words[nr] = NULL;
	if (!nr)
		return;
	if (!strcmp(words[0], "await") && nr > 2) {
		printf("= %d\n", !await(words[1], words[2]));
		fflush(stdout);
		return;
	}
	if (!strcmp(words[0], "print") && nr > 1) {
		printf("= %d\n", !print(words[1]));
		fflush(stdout);
		return;
	}
	if (!strcmp(words[0], "mkdir") && nr > 1) {
		printf("= %d\n", mkdir(words[1], 0777) != 0);
		fflush(stdout);
		return;
	}
	if (!strcmp(words[0], "write") && nr > 2) {
		printf("= %d\n", !write_word(words[1], words[2]));
		fflush(stdout);
		return;
	}
	if (!strcmp(words[0], "stop") && nr > 1 && nr_programs) {
		pid = programs[--nr_programs];
		kill(pid, atoi(words[1]));
		wait_for(pid);
		return;
	}
	pid = fork();
	if (!pid) {
		if (!strcmp(words[0], "deadline") && nr > 2)
			compute_as_deadline_task(words[1], words[2]);
		else
			execv(words[0], words);
		_exit(127);
	}
	if (waits || nr_programs == MAX_PROGRAMS)
		wait_for(pid);
	else
		programs[nr_programs++] = pid;
}

int main(void)
{
	static char line[4096];
	FILE *commands;

	mount_all();
	mount("bpf", "/sys/fs/bpf", "bpf", 0, NULL);
	mount("cgroup", "/sys/fs/cgroup", "cgroup2", 0, NULL);
	mkdir("/tmp", 0777);
	mkdir("/root", 0700);
	setenv("HOME", "/root", 1);
	setenv("NO_COLOR", "1", 1);
	commands = fopen("/commands", "r");
	while (commands && fgets(line, sizeof(line), commands)) {
		line[strcspn(line, "\n")] = 0;
		if (line[0] && line[0] != '#')
			carry_out(line);
	}
	turn_off();
	return 1;
}
