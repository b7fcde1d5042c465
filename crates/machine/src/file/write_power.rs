//! `[[vote]]` and `[thermal]` as TOML.

use crate::{Thermal, ThermalGovernor, ThermalZone, Vote};

use super::figure::{FACTOR, GAIN, HEAT_CAPACITY, HEAT_RESISTANCE, POWER, TEMPERATURE, TIME};
use super::thermal::{link_path, weight_path};
use super::votes::{rows, show_votes, vote_path};
use super::write::{key, quote, Writer};

impl Writer<'_> {
    pub(super) fn votes(&mut self) {
        for vote in &self.machine.votes {
            let [from, on] = [vote.from, vote.on].map(|i| self.machine.freq_domains[i as usize].cpus.to_string());
            self.line(format!("\n[[vote]]\nfrom = {}\non = {}", quote(&from), quote(&on)));
            self.vote_table(vote, "clock", &vote.clock);
            self.vote_table(vote, "voltage", &vote.voltage);
        }
    }

    fn vote_table(&mut self, vote: &Vote, key: &str, least: &[u32]) {
        let [voter, other] = [vote.from, vote.on].map(|i| &self.machine.freq_domains[i as usize]);
        let path = vote_path(&voter.cpus, &other.cpus, key);
        let rows = rows(least, voter, other);
        if rows.is_empty() && self.known_figure(&path).is_none() {
            return;
        }
        let rows: Vec<String> = rows.iter().map(|(from, on)| format!("[{from}, {on}]")).collect();
        let source = self.source(path, show_votes(least, voter, other));
        self.line(format!("{key} = {{ kHz = [{}], source = {source} }}", rows.join(", ")));
    }

    pub(super) fn thermal(&mut self) {
        let Some(thermal) = &self.machine.thermal else { return };
        self.line("\n[thermal]");
        self.key_figure("thermal", "ambient", thermal.ambient_mc.into(), &TEMPERATURE);
        if thermal.start_mc != thermal.ambient_mc || self.known_figure("thermal.start").is_some() {
            self.key_figure("thermal", "start", thermal.start_mc.into(), &TEMPERATURE);
        }
        self.key_figure("thermal", "step", thermal.step_ns as f64, &TIME);
        self.thermal_nodes(thermal);
        for link in &thermal.links {
            let [a, b] = link.between.map(|i| thermal.nodes[i as usize].name.as_str());
            let figure = self.figure(link_path(a, b), link.k_per_w, &HEAT_RESISTANCE);
            self.line(format!("\n[[thermal.link]]\nbetween = [{}, {}]\nresistance = {figure}", quote(a), quote(b)));
        }
        thermal.zones.iter().for_each(|zone| self.thermal_zone(thermal, zone));
    }

    fn thermal_nodes(&mut self, thermal: &Thermal) {
        for node in &thermal.nodes {
            self.line(format!("\n[thermal.node.{}]", key(&node.name)));
            if !node.cpus.is_empty() {
                self.line(format!("cpus = {}", quote(&node.cpus.to_string())));
            }
            let section = format!("thermal.node.{}", node.name);
            self.key_figure(&section, "capacity", node.j_per_k, &HEAT_CAPACITY);
            if let Some(resistance) = node.to_ambient {
                self.key_figure(&section, "to_ambient", resistance, &HEAT_RESISTANCE);
            }
        }
    }

    fn thermal_zone(&mut self, thermal: &Thermal, zone: &ThermalZone) {
        let section = format!("thermal.zone.{}", zone.name);
        let node = quote(&thermal.nodes[zone.node as usize].name);
        self.line(format!("\n[thermal.zone.{}]\nnode = {node}", key(&zone.name)));
        self.key_figure(&section, "polling", zone.polling_ns as f64, &TIME);
        let temperature = |writer: &mut Self, key: &str, mc: i32| {
            writer.key_figure(&section, key, mc.into(), &TEMPERATURE);
        };
        match zone.governor {
            ThermalGovernor::StepWise { trip_mc, hysteresis_mc } => {
                self.line("governor = \"step-wise\"");
                temperature(self, "trip", trip_mc);
                temperature(self, "hysteresis", hysteresis_mc);
            }
            ThermalGovernor::PowerAllocator { switch_on_mc, control_mc, sustainable_mw, gains } => {
                self.line("governor = \"power-allocator\"");
                temperature(self, "switch_on", switch_on_mc);
                temperature(self, "control", control_mc);
                self.key_figure(&section, "sustainable", sustainable_mw, &POWER);
                let powers = [("k_po", gains.k_po, &GAIN), ("k_pu", gains.k_pu, &GAIN), ("k_i", gains.k_i, &GAIN)];
                for (key, value, quantity) in powers.into_iter().chain([("i_max", gains.i_max_mw, &POWER)]) {
                    value.into_iter().for_each(|value| self.key_figure(&section, key, value, quantity));
                }
                gains.integral_cutoff_mc.into_iter().for_each(|mc| temperature(self, "integral_cutoff", mc));
            }
        }
        self.thermal_cools(&section, zone);
    }

    fn thermal_cools(&mut self, section: &str, zone: &ThermalZone) {
        self.line("cools = [");
        for (domain, weight) in &zone.cools {
            let cpus = self.machine.freq_domains[*domain as usize].cpus;
            let path = weight_path(&format!("{section}.cools"), &cpus);
            let is_stated = *weight != 1.0 || self.known_figure(&path).is_some();
            let weight = if is_stated { Some(self.figure(path, *weight, &FACTOR)) } else { None };
            let weight = weight.map_or(String::new(), |figure| format!(", weight = {figure}"));
            self.line(format!("    {{ cpus = {}{weight} }},", quote(&cpus.to_string())));
        }
        self.line("]");
    }
}
