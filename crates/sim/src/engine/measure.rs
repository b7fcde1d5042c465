//! Clocks that programs read, and what they report: a sample is the difference of two readings in whole ticks, as a
//! program would compute it from gettimeofday.

use fairground_workload::{ObjId, Report, SeriesId, Since};

use super::interp::Flow;
use super::objects::Obj;
use super::Engine;
use crate::{TaskId, Time};

impl Engine {
    pub(super) fn note_time(&mut self, id: ObjId) -> Flow {
        if let Obj::Stamp(at) = &mut self.objects[id as usize] {
            *at = self.now;
        }
        Flow::Next
    }

    pub(super) fn sample(&mut self, task: TaskId, since: Since, to: Report) -> Flow {
        let from = self.instant_of(task, since);
        match to {
            Report::Series(series) => {
                let ticks = self.ticks(series, from);
                self.report(series, ticks);
            }
            Report::Phase(phase) => self.meters.report_phase(phase, self.now - from),
            Report::Tally(id) => {
                if let Obj::Tally { series, .. } = self.objects[id as usize] {
                    let ticks = self.ticks(series, from);
                    self.add_to_tally(id, ticks);
                }
            }
        }
        Flow::Next
    }

    fn report(&mut self, series: SeriesId, ticks: u64) {
        self.meters.report(series, ticks, &self.workload.series[series as usize].deadlines);
    }

    pub(super) fn note_call(&mut self, task: TaskId, id: ObjId) -> Flow {
        if let Obj::Stamp(at) = &mut self.objects[id as usize] {
            *at = self.tasks[task as usize].called_at;
        }
        Flow::Next
    }

    fn instant_of(&self, task: TaskId, since: Since) -> Time {
        let t = &self.tasks[task as usize];
        match since {
            Since::Birth => t.born_at,
            Since::Call => t.called_at,
            Since::Stamp(id) => match self.objects[id as usize] {
                Obj::Stamp(at) => at,
                ref other => unreachable!("validated: object {id} is a stamp, not {other:?}"),
            },
        }
    }

    /// From then until now by the clock of a series.
    fn ticks(&self, series: SeriesId, from: Time) -> u64 {
        let tick = u64::from(self.workload.series[series as usize].tick_ns);
        self.now / tick - from / tick
    }

    fn add_to_tally(&mut self, id: ObjId, ticks: u64) {
        if let Obj::Tally { sum, count, .. } = &mut self.objects[id as usize] {
            *sum += ticks;
            *count += 1;
        }
    }

    pub(super) fn conclude(&mut self, id: ObjId) -> Flow {
        let Obj::Tally { series, sum, count } = &mut self.objects[id as usize] else { return Flow::Next };
        let (series, mean) = (*series, sum.checked_div(*count));
        (*sum, *count) = (0, 0);
        if let Some(mean) = mean {
            self.report(series, mean);
        }
        Flow::Next
    }
}
