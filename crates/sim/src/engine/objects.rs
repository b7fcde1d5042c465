//! State of pipes, sockets and locks. Pure data: functions return which threads to wake and wake none.

use std::collections::VecDeque;

use fairground_machine::CpuId;
use fairground_workload::{Object, SeriesId};

use crate::coherence::LINE_BYTES;
use crate::{TaskId, Time};

/// Bytes of a pipe slot (a page).
pub(crate) const SLOT_BYTES: u32 = 4096;
/// Cache lines of a channel that every user modifies: of a pipe those of the mutex with the readers' wait queue and of
/// head and tail with the writers'; of a socket those of the receive queue and of the sender's charge.
pub(crate) const CONTROL_LINES: u64 = 2;

/// Brings lines over from a CPU: the time that takes, ns.
pub(crate) type Fetch<'a> = dyn FnMut(CpuId, u64) -> u64 + 'a;

/// State of a kernel mutex.
#[derive(Debug, Default)]
pub(crate) struct KernelMutex {
    pub(super) holder: Option<TaskId>,
    /// In order of arrival; all are on a CPU.
    pub(super) spinners: VecDeque<TaskId>,
    /// In order of arrival, the first perhaps awake: it looks again.
    pub(super) sleepers: VecDeque<TaskId>,
    /// The first of the sleepers is the heir.
    pub(super) has_heir: bool,
    /// Where it was held last.
    pub(super) last: Option<CpuId>,
}

/// State of a roster.
#[derive(Debug, Default)]
pub(crate) struct Roster {
    /// The threads on it, in order of coming.
    pub(super) listed: Vec<TaskId>,
    /// The threads that were on it when the call began and are still to be woken.
    pub(super) calling: VecDeque<TaskId>,
    pub(super) keepers: VecDeque<TaskId>,
}

/// State of a ticket lock.
#[derive(Debug, Default)]
pub(crate) struct Ticket {
    /// When all who have a ticket are done.
    pub(super) free_at: Time,
    /// CPU of the last in the queue.
    pub(super) last: Option<CpuId>,
}

/// State of an [`Object`].
#[derive(Debug)]
pub(crate) enum Obj {
    Pipe(Pipe),
    Socket(Socket),
    Futex { value: u32, waiters: VecDeque<TaskId> },
    Mutex { owner: Option<TaskId>, waiters: VecDeque<TaskId> },
    Cond { waiters: VecDeque<TaskId> },
    Barrier { parties: u32, arrived: u32, generation: u64, released_at: Time, waiters: VecDeque<(TaskId, u64)> },
    Semaphore { value: u64, waiters: VecDeque<TaskId> },
    Timer { per_task: bool, last: Option<Time> },
    Stamp(Time),
    Tally { series: SeriesId, sum: u64, count: u64 },
    Roster(Roster),
    Ticket(Ticket),
    KernelMutex(KernelMutex),
}

impl Obj {
    pub(crate) fn new(object: &Object) -> Self {
        match *object {
            Object::Pipe { slots } => Obj::Pipe(Pipe::new(slots)),
            Object::Socket { sndbuf, overhead } => Obj::Socket(Socket::new(sndbuf, overhead)),
            Object::Futex { value } => Obj::Futex { value, waiters: VecDeque::new() },
            Object::Mutex => Obj::Mutex { owner: None, waiters: VecDeque::new() },
            Object::Cond => Obj::Cond { waiters: VecDeque::new() },
            Object::Barrier { parties } => {
                Obj::Barrier { parties, arrived: 0, generation: 0, released_at: 0, waiters: VecDeque::new() }
            }
            Object::Semaphore { value } => Obj::Semaphore { value: value.into(), waiters: VecDeque::new() },
            Object::Timer { per_task } => Obj::Timer { per_task, last: None },
            Object::Stamp => Obj::Stamp(0),
            Object::Tally { series } => Obj::Tally { series, sum: 0, count: 0 },
            Object::Roster => Obj::Roster(Roster::default()),
            Object::Ticket => Obj::Ticket(Ticket::default()),
            Object::KernelMutex => Obj::KernelMutex(KernelMutex::default()),
        }
    }
}

/// The lines of a channel itself: they are where it was touched last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Control {
    last: Option<CpuId>,
}

impl Control {
    /// The channel is touched on `cpu`.
    pub(crate) fn take(&mut self, cpu: CpuId, fetch: &mut Fetch) -> u64 {
        fetch(self.last.replace(cpu).unwrap_or(cpu), CONTROL_LINES)
    }

    /// The CPU whose cache has the lines; `None` if none was used yet.
    pub(crate) fn is_on(&self) -> Option<CpuId> {
        self.last
    }
}

/// Bytes in a row that were written on the same CPU.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    cpu: CpuId,
    bytes: u32,
}

/// What a read took out of a pipe or socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReadResult {
    pub bytes: u32,
    /// Whether a blocked writer should be woken.
    pub released: bool,
    /// Whether the channel was full before the read.
    pub was_full: bool,
    /// Time for the data's lines to come over, ns.
    pub stall_ns: u64,
    /// What the messages of a socket cost besides, `costs.socket_message`, ns.
    pub socket_ns: u64,
    /// Where the first byte was written.
    pub writer: Option<CpuId>,
}

impl ReadResult {
    /// Adds `bytes` that were written on `cpu`.
    fn add(&mut self, cpu: CpuId, bytes: u32, fetch: &mut Fetch) {
        self.stall_ns += fetch(cpu, u64::from(bytes.div_ceil(LINE_BYTES)));
        self.bytes += bytes;
        self.writer.get_or_insert(cpu);
    }
}

/// Takes up to `want` bytes off the chunks.
fn take_chunks(chunks: &mut VecDeque<Chunk>, want: u32, fetch: &mut Fetch) -> ReadResult {
    let mut taken = ReadResult::default();
    while taken.bytes < want {
        let Some(front) = chunks.front_mut() else { break };
        let bytes = front.bytes.min(want - taken.bytes);
        taken.add(front.cpu, bytes, fetch);
        front.bytes -= bytes;
        if front.bytes == 0 {
            chunks.pop_front();
        }
    }
    taken
}

fn put_chunk(chunks: &mut VecDeque<Chunk>, cpu: CpuId, bytes: u32) {
    match chunks.back_mut() {
        Some(last) if last.cpu == cpu => last.bytes += bytes,
        _ => chunks.push_back(Chunk { cpu, bytes }),
    }
}

/// A page of a pipe: bytes `read..written` are data; what is before them is lost until the page is drained.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    read: u32,
    written: u32,
    /// Where it was written or read last.
    cpu: CpuId,
}

/// A pipe of pages (Linux fs/pipe.c since 5.5).
#[derive(Debug)]
pub(crate) struct Pipe {
    capacity: usize,
    pub control: Control,
    /// The time at which the last thread so far that wants the mutex gives it up.
    mutex_until: Time,
    slots: VecDeque<Slot>,
    chunks: VecDeque<Chunk>,
    pub readers: VecDeque<TaskId>,
    pub writers: VecDeque<TaskId>,
    /// The tasks that poll, in the order in which they came.
    pub pollers: Vec<TaskId>,
}

impl Pipe {
    fn new(slots: u32) -> Self {
        Pipe {
            capacity: slots as usize,
            control: Control::default(),
            mutex_until: 0,
            slots: VecDeque::new(),
            chunks: VecDeque::new(),
            readers: VecDeque::new(),
            writers: VecDeque::new(),
            pollers: Vec::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// No slot is free. A small message may still fit into the newest.
    pub(crate) fn is_full(&self) -> bool {
        self.slots.len() >= self.capacity
    }

    /// Takes the mutex at `at` for `hold_ns`; returns how long that waits for earlier holders, ns.
    pub(crate) fn take_mutex(&mut self, at: Time, hold_ns: u64) -> u64 {
        let begin = at.max(self.mutex_until);
        self.mutex_until = begin + hold_ns;
        begin - at
    }

    /// The newest page, if a message goes into it. A writer that has slept does not try, as the kernel does not.
    fn newest_with_room(&mut self, bytes: u32, slept: bool) -> Option<&mut Slot> {
        let fits = |slot: &&mut Slot| !slept && bytes < SLOT_BYTES && slot.written + bytes <= SLOT_BYTES;
        self.slots.back_mut().filter(fits)
    }

    /// A message that goes into a page which is in use begins in a line that another CPU may have: it comes over.
    pub(crate) fn take_page(&mut self, bytes: u32, slept: bool, cpu: CpuId, fetch: &mut Fetch) -> u64 {
        let page = self.newest_with_room(bytes, slept).map(|slot| std::mem::replace(&mut slot.cpu, cpu));
        page.map_or(0, |last| fetch(last, 1))
    }

    /// Bytes that a read of `want` would take now, and the lines they are in by the CPU that wrote them.
    pub(crate) fn readable(&self, want: u32) -> (u32, impl Iterator<Item = (CpuId, u64)> + '_) {
        let mut left = want;
        let parts = self.chunks.iter().map_while(move |chunk| {
            let bytes = chunk.bytes.min(left);
            left -= bytes;
            (bytes > 0).then(|| (chunk.cpu, u64::from(bytes.div_ceil(LINE_BYTES))))
        });
        let all: u64 = self.chunks.iter().map(|chunk| u64::from(chunk.bytes)).sum();
        (all.min(want.into()) as u32, parts)
    }

    /// Writes one message, unless it must wait; says whether the pipe was empty.
    pub(crate) fn write(&mut self, bytes: u32, cpu: CpuId, slept: bool) -> Option<bool> {
        let (was_empty, is_full) = (self.is_empty(), self.is_full());
        match self.newest_with_room(bytes, slept) {
            Some(newest) => (newest.written, newest.cpu) = (newest.written + bytes, cpu),
            None if is_full => return None,
            None => self.slots.push_back(Slot { read: 0, written: bytes, cpu }),
        }
        put_chunk(&mut self.chunks, cpu, bytes);
        Some(was_empty)
    }

    /// Reads up to `want` bytes on `cpu`.
    pub(crate) fn read(&mut self, want: u32, cpu: CpuId, fetch: &mut Fetch) -> ReadResult {
        let was_full = self.is_full();
        let taken = take_chunks(&mut self.chunks, want, fetch);
        let (mut left, mut freed) = (taken.bytes, false);
        while left > 0 {
            let Some(slot) = self.slots.front_mut() else { break };
            let n = left.min(slot.written - slot.read);
            (slot.read, slot.cpu) = (slot.read + n, cpu);
            left -= n;
            if slot.read == slot.written {
                self.slots.pop_front();
                freed = true;
            }
        }
        ReadResult { released: was_full && freed, was_full, ..taken }
    }
}

/// Messages of one size in a row that were sent from the same CPU.
#[derive(Clone, Copy, Debug)]
struct Batch {
    cpu: CpuId,
    bytes: u32,
    /// Messages left, the first of them perhaps in part.
    count: u32,
    /// Bytes of the first that were received.
    taken: u32,
}

/// One direction of an AF_UNIX stream socket pair.
///
/// DEVIATION: a message is charged its bytes plus a fixed overhead; the kernel charges `skb->truesize`, which rounds
/// the data up to a size class of its allocator (powers of two, mostly). The overhead is chosen for the messages of the
/// benchmarks (100 bytes); with others a few more or fewer fit into the buffer.
#[derive(Debug)]
pub(crate) struct Socket {
    sndbuf: u64,
    overhead: u64,
    pub control: Control,
    /// What is charged to the send buffer now, bytes.
    charged: u64,
    messages: VecDeque<Batch>,
    pub readers: VecDeque<TaskId>,
    pub writers: VecDeque<TaskId>,
    /// The tasks that poll, in the order in which they came.
    pub pollers: Vec<TaskId>,
}

impl Socket {
    fn new(sndbuf: u32, overhead: u32) -> Self {
        Socket {
            sndbuf: sndbuf.into(),
            overhead: overhead.into(),
            control: Control::default(),
            charged: 0,
            messages: VecDeque::new(),
            readers: VecDeque::new(),
            writers: VecDeque::new(),
            pollers: Vec::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Charges a message that is to be sent, unless the buffer is used up; the last one may overshoot it, as in the
    /// kernel.
    pub(crate) fn charge(&mut self, bytes: u32) -> bool {
        let has_room = self.charged < self.sndbuf;
        if has_room {
            self.charged += u64::from(bytes) + self.overhead;
        }
        has_room
    }

    /// Sends a message that is charged.
    pub(crate) fn send(&mut self, bytes: u32, cpu: CpuId) {
        match self.messages.back_mut() {
            Some(last) if (last.cpu, last.bytes) == (cpu, bytes) => last.count += 1,
            _ => self.messages.push_back(Batch { cpu, bytes, count: 1, taken: 0 }),
        }
    }

    /// Receives up to `want` bytes. Blocked senders are released when a message is freed and at most a quarter of
    /// the buffer is charged.
    ///
    /// `socket_ns` is `costs.socket_message`, by the CPU that sent a message.
    pub(crate) fn recv(&mut self, want: u32, fetch: &mut Fetch, socket_ns: impl Fn(CpuId) -> u64) -> ReadResult {
        let mut taken = ReadResult { was_full: self.charged >= self.sndbuf, ..ReadResult::default() };
        let mut freed = false;
        while taken.bytes < want {
            let Some(batch) = self.messages.front_mut() else { break };
            let bytes = (batch.bytes - batch.taken).min(want - taken.bytes);
            if batch.taken == 0 {
                taken.socket_ns += socket_ns(batch.cpu);
            }
            taken.add(batch.cpu, bytes, fetch);
            batch.taken += bytes;
            if batch.taken == batch.bytes {
                self.charged -= u64::from(batch.bytes) + self.overhead;
                freed = true;
                (batch.taken, batch.count) = (0, batch.count - 1);
                if batch.count == 0 {
                    self.messages.pop_front();
                }
            }
        }
        taken.released = freed && self.charged * 4 <= self.sndbuf;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(_: CpuId, _: u64) -> u64 {
        0
    }

    /// Charges and sends a message, if there is room.
    fn pass(s: &mut Socket, bytes: u32, cpu: CpuId) -> bool {
        let has_room = s.charge(bytes);
        if has_room {
            s.send(bytes, cpu);
        }
        has_room
    }

    /// Two senders look at once: the second finds the room of one message taken, though the first has not sent it.
    #[test]
    fn a_message_in_the_making_takes_room_in_a_socket_and_cannot_be_received() {
        let mut s = Socket::new(768, 668);
        assert_eq!([s.charge(100), s.charge(100)], [true, false]);
        assert!(s.is_empty());
        s.send(100, 0);
        assert!(s.recv(100, &mut free, |_| 0).released && s.charge(100));
    }

    /// 40 messages of 100 bytes fit a page of 4096; 16 pages take 640. The 641st must wait until all 40 messages of
    /// the oldest page are read, not just one.
    #[test]
    fn a_pipe_takes_640_messages_of_100_bytes_and_frees_40_at_a_time() {
        let mut p = Pipe::new(16);
        assert_eq!(p.write(100, 0, false), Some(true));
        for _ in 1..640 {
            assert_eq!(p.write(100, 0, false), Some(false));
        }
        assert_eq!(p.write(100, 0, false), None);
        for i in 1..=40 {
            let taken = p.read(100, 0, &mut free);
            assert_eq!((taken.bytes, taken.released), (100, i == 40));
        }
        assert_eq!(p.write(100, 0, true), Some(false));
    }

    /// 100 bytes of CPU 3 on CPU 5: 2 lines of data, and 2 of the pipe itself, which are on 5 from then on.
    #[test]
    fn a_message_from_another_cpu_costs_its_lines() {
        let mut p = Pipe::new(16);
        let mut asked = Vec::new();
        p.control.take(3, &mut |from, n| {
            asked.push((from, 3, n));
            0
        });
        p.write(100, 3, false);
        for _ in 0..2 {
            p.control.take(5, &mut |from, n| {
                asked.push((from, 5, n));
                0
            });
        }
        assert_eq!(p.read(100, 5, &mut |from, n| if from == 3 { 10 * n } else { 0 }).stall_ns, 20);
        assert_eq!(asked, [(3, 3, 2), (3, 5, 2), (5, 5, 2)]);
    }

    /// The page of CPU 0's message is read on 1, so that one line of it comes back; a page of its own none has.
    #[test]
    fn a_writer_takes_the_line_in_which_its_page_goes_on() {
        let mut p = Pipe::new(16);
        let from = |p: &mut Pipe, cpu| p.take_page(100, false, cpu, &mut |last, n| 10 * u64::from(last) + n);
        assert_eq!(from(&mut p, 0), 0, "no page");
        p.write(200, 0, false);
        p.read(100, 7, &mut free);
        assert_eq!([from(&mut p, 0), from(&mut p, 2)], [71, 1]);
        p.write(SLOT_BYTES, 0, false);
        assert_eq!(from(&mut p, 5), 0, "the newest page is full");
    }

    /// 100 + 668 bytes a message: 212992 / 768 = 277.3, so 278 go in (the last overshoots). A quarter is 53248 =
    /// 69.3 messages: senders are released when 69 are left, after 209 reads.
    #[test]
    fn a_socket_releases_its_sender_at_a_quarter() {
        let mut s = Socket::new(212_992, 668);
        assert_eq!((0..1000).take_while(|_| pass(&mut s, 100, 0)).count(), 278);
        let reads = (1..).find(|_| s.recv(100, &mut free, |_| 0).released);
        assert_eq!(reads, Some(209));
    }

    /// 100 ns each from 900, 940 and 1150: the second begins when the first is over, the third finds the mutex free.
    #[test]
    fn those_who_want_a_pipe_have_it_one_after_another() {
        let mut p = Pipe::new(16);
        assert_eq!([900, 940, 1150].map(|at| p.take_mutex(at, 100)), [0, 60, 0]);
    }

    #[test]
    fn what_a_read_would_take_is_known_before() {
        let mut p = Pipe::new(16);
        for (bytes, cpu) in [(100, 1), (60, 2), (10, 3)] {
            p.write(bytes, cpu, false);
        }
        let (bytes, parts) = p.readable(130);
        assert_eq!((bytes, parts.collect::<Vec<_>>()), (130, vec![(1, 2), (2, 1)]));
        assert_eq!(p.readable(1000).0, 170);
    }

    /// Three messages of 100 bytes from CPU 1 are one batch; 150 bytes free the first of them.
    #[test]
    fn messages_in_a_row_are_one_batch_and_are_freed_one_by_one() {
        let mut s = Socket::new(10_000, 900);
        for (bytes, cpu) in [(100, 1), (100, 1), (100, 1), (100, 2), (50, 2)] {
            assert!(pass(&mut s, bytes, cpu));
        }
        assert_eq!(s.messages.iter().map(|b| (b.cpu, b.count)).collect::<Vec<_>>(), [(1, 3), (2, 1), (2, 1)]);
        assert_eq!(s.recv(150, &mut free, |_| 0).bytes, 150);
        assert_eq!(s.charged, 4 * 900 + 350);
        let rest = s.recv(1000, &mut |cpu, n| u64::from(cpu) * n, |cpu| 100 * u64::from(cpu));
        // The message that was begun before has paid.
        assert_eq!((rest.stall_ns, rest.socket_ns), (1 + 2 + 2 * 2 + 2, 100 + 200 + 200));
        assert_eq!((s.charged, s.is_empty()), (0, true));
    }

    #[test]
    fn a_page_of_its_own_is_never_shared() {
        let mut p = Pipe::new(2);
        p.write(4096, 0, false);
        p.write(1, 0, false);
        assert_eq!(p.slots.len(), 2);
        assert!(p.is_full());
        assert_eq!(p.write(100, 0, false), Some(false), "fits behind the one byte");
    }
}
