//! Random workloads that may deadlock: each task draws its steps without regard to the others.

use super::random::{close_loop, common_objects, Random};
use crate::program::*;

/// Deepest nesting of loops.
const DEPTH: u32 = 2;

/// The first object after [`common_objects`]; those below follow it.
const PIPE: ObjId = 4;
const SOCKET: ObjId = 5;
const FUTEX: ObjId = 6;
const SEMAPHORE: ObjId = 7;
const BARRIER: ObjId = 8;
const COND: ObjId = 9;
const ROSTER: ObjId = 10;
const MUTEXES: [ObjId; 2] = [11, 12];

pub(super) fn workload(random: &mut Random, cpus: usize) -> Workload {
    let tasks = 1 + random.draw_below(6) as usize;
    let programs: Vec<Vec<Op>> = (0..tasks).map(|_| program(random, cpus)).collect();
    let users = programs.iter().filter(|p| p.contains(&Op::BarrierWait(BARRIER))).count() as u64;
    let mut objects = common_objects(true);
    objects.resize(MUTEXES[1] as usize + 1, Object::Mutex);
    objects[PIPE as usize] = Object::Pipe { slots: 1 };
    objects[SOCKET as usize] = Object::Socket { sndbuf: 4096, overhead: 768 };
    objects[FUTEX as usize] = Object::Futex { value: 0 };
    objects[SEMAPHORE as usize] = Object::Semaphore { value: random.draw_below(3) as u32 };
    objects[BARRIER as usize] = Object::Barrier { parties: 1 + random.draw_below(users.max(1)) as u32 };
    objects[COND as usize] = Object::Cond;
    objects[ROSTER as usize] = Object::Roster;
    let specs = programs.into_iter().enumerate().map(|(i, p)| random.spec(format!("task-{i}"), p, cpus)).collect();
    let mut workload = random.assemble(objects, specs, tasks as u32, cpus);
    workload.duration_ns = Some(100_000_000);
    workload
}

fn program(random: &mut Random, cpus: usize) -> Vec<Op> {
    let mut program = Vec::new();
    block(random, cpus, &mut program, DEPTH, &mut Vec::new());
    program
}

/// Appends steps; `held` are the mutexes this thread holds, the same before and after.
fn block(random: &mut Random, cpus: usize, program: &mut Vec<Op>, depth: u32, held: &mut Vec<ObjId>) {
    let before = held.len();
    for _ in 0..1 + random.draw_below(8) {
        match random.draw_below(8) {
            0 if depth > 0 => {
                let begin = program.len();
                program.push(Op::Loop { times: Some(random.draw_below(4)), end: 0 });
                block(random, cpus, program, depth - 1, held);
                close_loop(program, begin);
            }
            1 => {
                let mutex = MUTEXES[random.draw_below(2) as usize];
                if !held.contains(&mutex) {
                    program.push(Op::Lock(mutex));
                    held.push(mutex);
                }
            }
            2 | 3 => program.push(random.step(cpus)),
            _ => program.push(meeting(random, held)),
        }
    }
    for mutex in held.drain(before..).rev() {
        program.push(Op::Unlock(mutex));
    }
}

fn meeting(random: &mut Random, held: &[ObjId]) -> Op {
    let bytes = 1 + random.draw_below(3000) as u32;
    match random.draw_below(17) {
        0 => Op::PipeWrite { pipe: PIPE, bytes },
        1 => Op::PipeRead { pipe: PIPE, bytes },
        2 => Op::SockSend { sock: SOCKET, bytes },
        3 => Op::SockRecv { sock: SOCKET, bytes },
        4 => Op::FutexStore { futex: FUTEX, value: random.draw_below(2) as u32 },
        5 => Op::FutexWait { futex: FUTEX, expected: 0 },
        6 => Op::FutexWake { futex: FUTEX, count: bytes % 3 },
        7 => Op::SemWait(SEMAPHORE),
        8 => Op::SemPost(SEMAPHORE),
        9 => Op::BarrierWait(BARRIER),
        10 => Op::CondWait { cond: COND, mutex: held.last().copied() },
        11 => Op::Signal(COND),
        12 => Op::Poll([PIPE, SOCKET][random.draw_below(2) as usize]),
        13 => Op::Enlist(ROSTER),
        14 => Op::CallListed(ROSTER),
        15 => Op::AwaitListed(ROSTER),
        _ => Op::Broadcast(COND),
    }
}
