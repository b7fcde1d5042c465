//! Steps that pass messages: pipes, sockets, and waiting for either to have something to read.
//!
//! What crosses from CPU to CPU, in cache lines of 64 bytes, each counted once:
//!
//! | lines | whose | taken by | from |
//! |---|---|---|---|
//! | 2 | the channel's own | each writer, each reader, to own them | the CPU that touched it last, writer or reader |
//! | 1 | where a page in use goes on | a writer of a pipe, to own it | the CPU that wrote or read this page last |
//! | bytes / 64, rounded up | data | the reader, to read them: the first as `costs.line_read`, each further one as `costs.line_next` | the CPUs that wrote it |
//! | `costs.message_lines` | what else the writer has modified: task, run queue, wait queue | the reader, to read them | the CPU that wrote the first byte |
//!
//! Two own lines: of a pipe, that of the mutex and the readers' wait queue, which every call modifies, and that of head
//! and tail with the writers' wait queue (`struct pipe_inode_info`: 24 bytes of mutex, 24 of each queue, then the
//! rest); of a socket, that of the receive queue with its lock, and that of the sender's charge, which the task that
//! frees a message gives back. A message of another CPU costs its reader `costs.message` and `costs.message_lines` by
//! distance besides, once a read, and one of a socket `costs.socket_message`, each; this time counts as `Traffic::message_ns`, not
//! among the lines.
//!
//! ```text
//! writer  call, copy ====|~ mutex, lines ~*             * the message is there; a reader is woken
//! reader           call =|~ mutex ~|= lines, copy =*    * room may be there; a writer is woken
//! ```
//!
//! The mutex of a pipe is held for the copy and the lines, by writers and readers alike, in the order in which they
//! come to it. A writer comes to it when its copy is done, and holds it from the copy's start if no other thread did.
//! DEVIATION: a waiter spins, as in the kernel while the owner runs. DEVIATION: a waiting reader holds the mutex for
//! the data that it would find when it comes. DEVIATION: head and tail change with the page only, of which 40 messages
//! of 100 bytes go into one; the descriptor of the page, which each message changes, stands for them meanwhile. Fresh
//! pages and the heads of a socket's messages are taken to be where they are used, as freed memory goes to lists of the
//! CPU; a poll reads and takes nothing. What a look at an empty channel takes is paid when the reader is back.

use std::collections::VecDeque;

use fairground_machine::{CpuId, SoftCost};
use fairground_workload::ObjId;

use super::interp::Flow;
use super::objects::{Control, Obj, ReadResult, CONTROL_LINES};
use super::task::Wait;
use super::Engine;
use crate::{TaskId, Time};

impl Engine {
    fn pipe(&mut self, id: ObjId) -> &mut super::objects::Pipe {
        match &mut self.objects[id as usize] {
            Obj::Pipe(p) => p,
            other => unreachable!("validated: object {id} is a pipe, not {other:?}"),
        }
    }

    fn socket(&mut self, id: ObjId) -> &mut super::objects::Socket {
        match &mut self.objects[id as usize] {
            Obj::Socket(s) => s,
            other => unreachable!("validated: object {id} is a socket, not {other:?}"),
        }
    }

    /// 0: the call and the copy. 1: the mutex and the lines. 2: find room, or sleep for it; wake a reader if there was
    /// nothing before.
    pub(super) fn pipe_write(&mut self, cpu: CpuId, task: TaskId, phase: u8, id: ObjId, bytes: u32) -> Flow {
        if phase == 0 {
            let flow = self.work(task, 1, &[SoftCost::Syscall, SoftCost::PipeWrite]);
            self.tasks[task as usize].work_q20 += self.copy_q20(bytes);
            return flow;
        }
        if phase == 1 {
            let stall_ns = self.take_pipe_to_write(cpu, task, id, bytes);
            let t = &mut self.tasks[task as usize];
            t.phase = 2;
            if stall_ns > 0 {
                t.stall_ns += stall_ns;
                return Flow::Work;
            }
        }
        let slept = self.tasks[task as usize].slept;
        let pipe = self.pipe(id);
        let Some(was_empty) = pipe.write(bytes, cpu, slept) else {
            pipe.writers.push_back(task);
            self.tasks[task as usize].slept = true;
            return self.block(cpu, task, Wait::Space(id), 1, &[SoftCost::PipeWrite]);
        };
        let reader = if was_empty { pipe.readers.pop_front() } else { None };
        let next = if slept && !pipe.is_full() { pipe.writers.pop_front() } else { None };
        self.wake_pollers(cpu, task, id);
        self.wake_from(cpu, task, true, reader);
        self.wake_from(cpu, task, true, next);
        Flow::Next
    }

    /// The mutex and the lines of a write whose copy is done: the time that takes, ns.
    fn take_pipe_to_write(&mut self, cpu: CpuId, task: TaskId, id: ObjId, bytes: u32) -> u64 {
        let slept = self.tasks[task as usize].slept;
        let copy_ns = self.held_ns(cpu, SoftCost::PipeWrite, bytes);
        let Engine { objects, env, machine, now, .. } = self;
        let Obj::Pipe(pipe) = &mut objects[id as usize] else { unreachable!("validated: object {id} is a pipe") };
        let fetch = &mut |from, n| env.lines.fetch(machine, *now, from, cpu, n);
        let lines_ns = pipe.control.take(cpu, fetch) + pipe.take_page(bytes, slept, cpu, fetch);
        let began = self.now.saturating_sub(copy_ns);
        lines_ns + self.wait_for_pipe(id, began, copy_ns + lines_ns)
    }

    /// Waits for the mutex of a pipe, wanted at `at` for `hold_ns`, if it is one that others wait for.
    fn wait_for_pipe(&mut self, id: ObjId, at: Time, hold_ns: u64) -> u64 {
        if !self.config.locks.pipe {
            return 0;
        }
        let wait_ns = self.pipe(id).take_mutex(at, hold_ns);
        self.env.lines.traffic.pipe_wait_ns += wait_ns;
        wait_ns
    }

    /// How long software under the mutex of a pipe takes on a CPU, with the copy, ns.
    fn held_ns(&self, cpu: CpuId, kind: SoftCost, bytes: u32) -> u64 {
        (self.soft_q20[kind as usize] + self.copy_q20(bytes)) / self.env.cpu(cpu).speed_q20
    }

    /// How long a reader that wants `want` bytes will hold the mutex of a pipe, ns, waits for a link not included.
    fn reading_ns(&mut self, cpu: CpuId, id: ObjId, want: u32) -> u64 {
        let (machine, costs) = (&self.machine, &self.machine.costs);
        let Obj::Pipe(pipe) = &self.objects[id as usize] else { unreachable!("validated: object {id} is a pipe") };
        let (bytes, parts) = pipe.readable(want);
        let data_ns: u64 = parts.map(|(from, n)| costs.data_lines(machine.distance(from, cpu), n)).sum();
        let owned_ns = |from: CpuId| costs.line_ns[machine.distance(from, cpu) as usize] * CONTROL_LINES;
        let control_ns = pipe.control.is_on().map_or(0, owned_ns);
        control_ns + data_ns + self.copy_q20(bytes) / self.env.cpu(cpu).speed_q20
    }

    /// 0: the call. 1: the mutex. 4: take what is there, or sleep for it. 2, 3: copied; wake a writer (3), pass on a
    /// wake.
    pub(super) fn pipe_read(&mut self, cpu: CpuId, task: TaskId, phase: u8, id: ObjId, bytes: u32) -> Flow {
        if phase == 0 {
            self.want_bytes(task, bytes);
            return self.work(task, 1, &[SoftCost::Syscall, SoftCost::PipeRead]);
        }
        if phase == 1 {
            let want = self.tasks[task as usize].scratch as u32;
            let hold_ns = self.reading_ns(cpu, id, want);
            let wait_ns = self.wait_for_pipe(id, self.now, hold_ns);
            if wait_ns > 0 {
                let t = &mut self.tasks[task as usize];
                (t.phase, t.stall_ns) = (4, t.stall_ns + wait_ns);
                return Flow::Work;
            }
        }
        if phase == 1 || phase == 4 {
            self.touch(cpu, task, id);
            if self.pipe(id).is_empty() {
                self.pipe(id).readers.push_back(task);
                self.tasks[task as usize].slept = true;
                return self.block(cpu, task, Wait::Data(id), 1, &[SoftCost::PipeRead]);
            }
            let want = self.tasks[task as usize].scratch as u32;
            let mut taken = self.take_from(cpu, id, want);
            taken.released |= taken.was_full && self.config.pipe_eager_writer_wake;
            return self.copy_out(task, taken);
        }
        let slept = self.tasks[task as usize].slept;
        let pipe = self.pipe(id);
        let writer = if phase == 3 { pipe.writers.pop_front() } else { None };
        let next = if slept && !pipe.is_empty() { pipe.readers.pop_front() } else { None };
        self.wake_from(cpu, task, true, writer);
        self.wake_from(cpu, task, true, next);
        self.read_on(task)
    }

    /// 0: the call. 1: find room, or sleep for it; what is found is charged before the message is made. 2: the message
    /// is there; all sleeping readers are woken.
    pub(super) fn sock_send(&mut self, cpu: CpuId, task: TaskId, phase: u8, id: ObjId, bytes: u32) -> Flow {
        if phase == 0 {
            return self.work(task, 1, &[SoftCost::Syscall]);
        }
        let sock = self.socket(id);
        if phase == 1 {
            if !sock.charge(bytes) {
                sock.writers.push_back(task);
                return self.block(cpu, task, Wait::Space(id), 1, &[]);
            }
            self.touch(cpu, task, id);
            let flow = self.work(task, 2, &[SoftCost::SockSend]);
            self.tasks[task as usize].work_q20 += self.copy_q20(bytes);
            return flow;
        }
        sock.send(bytes, cpu);
        let readers = std::mem::take(&mut sock.readers);
        self.wake_pollers(cpu, task, id);
        self.wake_last_first(cpu, task, readers);
        Flow::Next
    }

    /// Waits of AF_UNIX streams, to send as to receive, are not exclusive: all are woken, the last to come first. A
    /// thread that blocks again meanwhile is not woken twice.
    fn wake_last_first(&mut self, cpu: CpuId, task: TaskId, waiters: VecDeque<TaskId>) {
        for waiter in waiters.into_iter().rev() {
            self.wake_from(cpu, task, true, Some(waiter));
        }
    }

    /// 0: the call. 1: look; sleep if there is nothing, then look again.
    pub(super) fn poll(&mut self, cpu: CpuId, task: TaskId, phase: u8, id: ObjId) -> Flow {
        if phase == 0 {
            return self.work(task, 1, &[SoftCost::Syscall]);
        }
        let (is_empty, pollers) = match &mut self.objects[id as usize] {
            Obj::Pipe(p) => (p.is_empty(), &mut p.pollers),
            Obj::Socket(s) => (s.is_empty(), &mut s.pollers),
            other => unreachable!("validated: object {id} is not {other:?}"),
        };
        if !is_empty {
            return Flow::Next;
        }
        pollers.push(task);
        self.block(cpu, task, Wait::Data(id), 1, &[SoftCost::Syscall])
    }

    /// Waits of poll() are not exclusive, and the kernel queues such at the head: before readers, last come first.
    fn wake_pollers(&mut self, cpu: CpuId, task: TaskId, id: ObjId) {
        let pollers = match &mut self.objects[id as usize] {
            Obj::Pipe(p) => std::mem::take(&mut p.pollers),
            Obj::Socket(s) => std::mem::take(&mut s.pollers),
            _ => return,
        };
        for poller in pollers.into_iter().rev() {
            self.wake_from(cpu, task, true, Some(poller));
        }
    }

    /// 0: the call. 1: look, or sleep for a message. 4: take what is there; another reader may have been faster. 2, 3:
    /// copied and freed; wake all blocked senders (3) if the buffer is free enough.
    pub(super) fn sock_recv(&mut self, cpu: CpuId, task: TaskId, phase: u8, id: ObjId, bytes: u32) -> Flow {
        match phase {
            0 => {
                self.want_bytes(task, bytes);
                self.work(task, 1, &[SoftCost::Syscall])
            }
            1 | 4 if self.socket(id).is_empty() => {
                self.socket(id).readers.push_back(task);
                self.block(cpu, task, Wait::Data(id), 1, &[])
            }
            1 => self.work(task, 4, &[SoftCost::SockRecv]),
            4 => {
                self.touch(cpu, task, id);
                let want = self.tasks[task as usize].scratch as u32;
                let taken = self.take_from(cpu, id, want);
                self.copy_out(task, taken)
            }
            _ => {
                if phase == 3 {
                    let writers = std::mem::take(&mut self.socket(id).writers);
                    self.wake_last_first(cpu, task, writers);
                }
                self.read_on(task)
            }
        }
    }

    /// A read begins, or goes on with what is left.
    fn want_bytes(&mut self, task: TaskId, bytes: u32) {
        let t = &mut self.tasks[task as usize];
        if t.scratch == 0 {
            t.scratch = bytes.into();
        }
    }

    /// The channel's own lines come to the task's CPU.
    fn touch(&mut self, cpu: CpuId, task: TaskId, id: ObjId) {
        let Engine { objects, env, machine, now, .. } = self;
        let control: &mut Control = match &mut objects[id as usize] {
            Obj::Pipe(p) => &mut p.control,
            Obj::Socket(s) => &mut s.control,
            other => unreachable!("validated: object {id} is not {other:?}"),
        };
        let moved_ns = control.take(cpu, &mut |from, n| env.lines.fetch(machine, *now, from, cpu, n));
        self.tasks[task as usize].stall_ns += moved_ns;
    }

    fn take_from(&mut self, cpu: CpuId, id: ObjId, want: u32) -> ReadResult {
        let Engine { objects, env, machine, now, .. } = self;
        let socket_ns = |from: CpuId| machine.costs.socket_message_ns[machine.distance(from, cpu) as usize];
        let fetch = &mut |from, n| env.lines.fetch_data(machine, *now, from, cpu, n);
        let mut taken = match &mut objects[id as usize] {
            Obj::Pipe(p) => p.read(want, cpu, fetch),
            Obj::Socket(s) => s.recv(want, fetch, socket_ns),
            other => unreachable!("validated: object {id} is not {other:?}"),
        };
        if let Some(writer) = taken.writer {
            let message_ns = taken.socket_ns + self.machine.costs.message(self.machine.distance(writer, cpu));
            self.env.lines.traffic.message_ns += message_ns;
            taken.stall_ns += message_ns;
        }
        taken
    }

    /// Charges the transfer of the message. Then phase 3 if a waiter is to be released, else 2.
    fn copy_out(&mut self, task: TaskId, taken: ReadResult) -> Flow {
        let work = self.copy_q20(taken.bytes);
        let t = &mut self.tasks[task as usize];
        t.scratch -= u64::from(taken.bytes);
        t.work_q20 = work;
        t.stall_ns += taken.stall_ns;
        t.phase = if taken.released { 3 } else { 2 };
        Flow::Work
    }

    /// Another read call if the message is not complete.
    fn read_on(&mut self, task: TaskId) -> Flow {
        let t = &mut self.tasks[task as usize];
        if t.scratch == 0 {
            return Flow::Next;
        }
        t.slept = false;
        self.work(task, 0, &[])
    }
}
