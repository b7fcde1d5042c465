//! Frequency requests and limits: what a governor inside the scheduler requests, the caps that a workload
//! brings along, and what a clock then does.
//!
//! ```text
//! cap begins  *  the scheduler sees it, pressure rises at once
//!             ~~~~~~~~~*  the clock is there after its transition time, and speed and power with it
//!
//! requests *  * each is there after the transition time, in the order in which they were made; one that comes
//!         ~~~~*  while another is under way does not stop it
//!            ~~~~*
//!
//! |  *     |    * * |          a clock that changes in slots: the time begins at the next slot
//!          ~~~~*    ~~~~**
//! ```
//!
//! DEVIATION: what schedulers scale utilization by ([`crate::CpuView::freq_scale`]) changes with the clock, as where
//! the hardware counts cycles; without counters Linux takes the new frequency for there as soon as it is asked for.

use fairground_machine::{CpuId, Opp};
use fairground_workload::CapSource;

use super::queue::EngineEvent;
use super::{Engine, Governor};
use crate::{FrequencyLimits, Time};

impl Engine {
    /// Time 0: caps that hold from the beginning are there already, the others are awaited.
    pub(super) fn arm_caps(&mut self) {
        for cap in &self.workload.frequency_caps {
            let domains = self.machine.freq_domains.iter().enumerate();
            for (domain, _) in domains.filter(|(_, d)| d.cpus.intersects(&cap.cpus)) {
                let change = EngineEvent::Limits { domain: domain as u32 };
                [Some(cap.from_ns), cap.to_ns].into_iter().flatten().for_each(|at| self.queue.push(at, change));
            }
        }
        for domain in 0..self.machine.freq_domains.len() as u32 {
            self.publish_limits(domain);
        }
    }

    /// A cap of this domain begins or ends.
    pub(super) fn limits_change(&mut self, domain: u32) {
        if self.publish_limits(domain) {
            let changed_at = self.machine.freq_domains[domain as usize].changed_at(self.now);
            self.queue.push(changed_at, EngineEvent::Reclock { domain });
        }
    }

    /// Publishes the present limits to observers and the scheduler; false if they are unchanged.
    fn publish_limits(&mut self, domain: u32) -> bool {
        let cpus = self.machine.freq_domains[domain as usize].cpus;
        let limits = self.limits_at(self.now, domain);
        let Some(first) = cpus.first().filter(|cpu| self.env.cpu(*cpu).limits != limits) else { return false };
        cpus.iter().for_each(|cpu| self.env.cpu_mut(cpu).limits = limits);
        self.call(first, |s, e| s.frequency_limits(e, &cpus));
        true
    }

    fn limits_at(&self, now: Time, domain: u32) -> FrequencyLimits {
        let cooled_khz = self.cooled_khz(domain);
        let domain = &self.machine.freq_domains[domain as usize];
        let mut limits = FrequencyLimits::unlimited(domain.opps.last().map_or(0, |o| o.khz));
        limits.cooling_khz = limits.cooling_khz.min(cooled_khz);
        limits.policy_khz = limits.policy_khz.min(cooled_khz);
        let caps = self.workload.frequency_caps.iter().filter(|c| c.cpus.intersects(&domain.cpus));
        for cap in caps.filter(|c| c.from_ns <= now && c.to_ns.is_none_or(|to| now < to)) {
            let khz = domain.opps[highest_below(&domain.opps, cap.max_khz)].khz;
            match cap.by {
                CapSource::Hardware => limits.hardware_khz = limits.hardware_khz.min(khz),
                CapSource::Cooling => limits.cooling_khz = limits.cooling_khz.min(khz),
                CapSource::User => {}
            }
            if cap.by != CapSource::Hardware {
                limits.policy_khz = limits.policy_khz.min(khz);
            }
        }
        limits
    }

    /// The operating point that a domain takes: the governor's or what others vote for, or the highest that its limits
    /// allow.
    pub(super) fn permitted_opp(&self, domain: u32) -> u32 {
        let hardware = &self.machine.freq_domains[domain as usize];
        let limit = hardware.cpus.first().map_or(u32::MAX, |cpu| self.env.cpu(cpu).limits.lowest_khz());
        let wished = self.wished_opp[domain as usize].max(self.voted_opp(domain));
        wished.min(highest_below(&hardware.opps, limit) as u32)
    }

    /// A governor inside the scheduler asks for a frequency. It gets the lowest operating point at or above that.
    pub(super) fn frequency_requested(&mut self, cpu: CpuId, khz: u32, sent: Time) {
        let Some(domain) = self.machine.cpus.get(cpu as usize).map(|c| c.freq_domain) else {
            return self.fail_invariant(format!("a frequency was asked for on CPU {cpu}, which does not exist"));
        };
        if self.config.governor != Governor::Schedutil {
            let what = format!("CPU {cpu} asked for {khz} kHz, but the governor is not schedutil");
            return self.fail_invariant(what);
        }
        let opps = &self.machine.freq_domains[domain as usize].opps;
        let opp = opps.iter().position(|o| o.khz >= khz).unwrap_or(opps.len() - 1) as u32;
        if std::mem::replace(&mut self.asked_opp[domain as usize], opp) != opp {
            // CPUs' clocks differ by what they were charged: requests are carried out in the order in which they were
            // made.
            let at = sent.max(self.asked_at[domain as usize]);
            self.asked_at[domain as usize] = at;
            self.set_frequency(at, domain, opp);
        }
    }

    /// The clock has had its time to follow the limits.
    pub(super) fn reclock(&mut self, domain: u32) {
        let opp = self.permitted_opp(domain);
        if opp != self.opp[domain as usize] {
            self.apply_frequency(domain, opp);
        }
    }
}

/// Index of the highest operating point not above `khz`; the lowest if there is none.
fn highest_below(opps: &[Opp], khz: u32) -> usize {
    opps.iter().rposition(|o| o.khz <= khz).unwrap_or(0)
}
