//! Steps that pass messages: pipes, sockets, and waiting for either to have something to read.

use std::collections::VecDeque;

use fairground_machine::{CpuId, SoftCost};
use fairground_workload::ObjId;

use super::interp::Flow;
use super::objects::{Obj, Taken};
use super::task::Wait;
use super::Engine;
use crate::TaskId;

/// What [`super::task::Task::scratch`] holds of a writer that has, or had, its pipe's mutex.
const MUTEX_HELD: u64 = 1;

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

    /// 0: the call and the copy. 1: find room, or sleep for it; wake a reader if there was nothing before. A writer
    /// that would have copied while another did comes to 1 again when it has waited for the pipe's mutex.
    /// DEVIATION: it spins for the mutex, as the kernel does while the owner runs; readers do not contend.
    pub(super) fn pipe_write(&mut self, cpu: CpuId, task: TaskId, phase: u8, id: ObjId, bytes: u32) -> Flow {
        if phase == 0 {
            let flow = self.work(task, 1, &[SoftCost::Syscall, SoftCost::PipeWrite]);
            self.tasks[task as usize].work_q20 += self.copy_q20(bytes);
            return flow;
        }
        if std::mem::replace(&mut self.tasks[task as usize].scratch, MUTEX_HELD) != MUTEX_HELD {
            let copy_ns = self.copying_ns(cpu, bytes);
            let now = self.now;
            let wait_ns = self.pipe(id).take_mutex(now, copy_ns);
            if wait_ns > 0 {
                self.tasks[task as usize].stall_ns += wait_ns;
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

    /// 0: the call. 1: take what is there, or sleep for it. 2, 3: copied; wake a writer (3), pass on a wake.
    pub(super) fn pipe_read(&mut self, cpu: CpuId, task: TaskId, phase: u8, id: ObjId, bytes: u32) -> Flow {
        if phase == 0 {
            self.want_bytes(task, bytes);
            return self.work(task, 1, &[SoftCost::Syscall, SoftCost::PipeRead]);
        }
        if phase == 1 {
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

    /// Waits of AF_UNIX streams, to send as to receive, are not exclusive: all are woken, those who came last first.
    /// Who blocks again while this goes on is not woken twice.
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

    fn take_from(&mut self, cpu: CpuId, id: ObjId, want: u32) -> Taken {
        let (n, row) = (self.cpus.len(), cpu as usize);
        let (distance, line_ns) = (&self.distance, &self.machine.costs.line_ns);
        let price = |from: CpuId| line_ns[distance[row * n + from as usize] as usize];
        match &mut self.objects[id as usize] {
            Obj::Pipe(p) => p.read(want, &price),
            Obj::Socket(s) => s.recv(want, &price),
            other => unreachable!("validated: object {id} is not {other:?}"),
        }
    }

    /// Pays for bringing the message over. Then phase 3 if somebody is to be released, else 2.
    fn copy_out(&mut self, task: TaskId, taken: Taken) -> Flow {
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
