//! A disagreement as a JSON file: the machine, the preset, the policy's input state, and the kernel's choice. A test
//! repeats it.

use std::sync::Arc;

use fairground_fair::ffi::*;
use fairground_fair::{
    note_words, rule_name, BalanceInput, FairError, Features, Placing, Pointers, PolicySandbox, SourceQueue,
};
use fairground_machine::{CpuId, Machine, MachineError};
use miette::Diagnostic;
use serde_json::{json, Map, Value};
use thiserror::Error;

use super::balance;
use super::caches;
use super::fields;
use super::frequency;
use super::push;
use super::state_importer::{push_target, StateImporter};
use super::tally::Kind;

/// The kind of decision, with its inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Where a task goes.
    Place(Placing),
    /// Which of the queued entities and the current one of the queue of a task group on a CPU runs next; none: of the CPU's
    /// own queue. In the kernel's order.
    Pick { cpu: CpuId, group: Option<usize>, queued: Vec<u32>, protect: bool },
    /// What a balance pass moves.
    Balance(BalanceInput),
    /// What the stopper of this CPU pushes.
    Push(SourceQueue),
    /// Which cache the process of a task prefers, by a scan of the task.
    Scan { task: u32, jiffies: u64 },
    /// The frequency that the governor requests after a CPU's utilization has changed. `FG_FREQUENCY_*`.
    Frequency(CpuId, u32),
}

/// An input state, the kind of decision, and the kernel's answer.
#[derive(Clone, Debug)]
pub struct DisagreementCase {
    value: Value,
}

/// Why a file cannot be read as a case.
#[derive(Debug, Error, Diagnostic)]
pub enum CaseError {
    /// The file is not valid JSON.
    #[error("the case is no JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A key is missing or its value has another type.
    #[error("case: {0}")]
    Form(String),
    /// The machine of the case is invalid.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Machine(#[from] MachineError),
    /// Our policy cannot be set up for the case.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Fair(#[from] FairError),
}

/// The result of a repeated case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The kernel's choice. A placement: a CPU. A pick: a task, -1 for none. Others: the outcome as text.
    pub kernel: Value,
    /// The choice of our policy, in the same form.
    pub ours: Value,
    /// The rule by which our policy decided.
    pub rule: String,
    /// The reasons of our policy for a placement, as text; empty for other decisions.
    pub why: Vec<String>,
}

impl DisagreementCase {
    /// Makes a case of the state in `shown`, with these tasks.
    pub fn new(of: &About<'_>, sandbox: &mut PolicySandbox, question: &Question, kernel: Value) -> DisagreementCase {
        let state = state(sandbox, question);
        let answer = answer(sandbox, question);
        let mut value = json!({
            "about": of.about,
            "kind": of.kind.word(),
            "kernel": kernel,
            "ours": { "chosen": answer.chosen, "rule": answer.rule, "why": answer.why },
            "preset": of.features.to_string(),
            "hz": sandbox.sys_mut().hz,
        });
        if let Some(map) = value.as_object_mut() {
            map.insert(question.word().into(), question.json());
            map.extend(state);
            map.insert("machine".into(), Value::String(of.machine.to_toml()));
        }
        DisagreementCase { value }
    }

    /// The case as JSON.
    pub fn json(&self) -> &Value {
        &self.value
    }

    /// Reads a case from JSON.
    ///
    /// # Errors
    /// The text is not valid JSON.
    pub fn parse(text: &str) -> Result<DisagreementCase, CaseError> {
        Ok(DisagreementCase { value: serde_json::from_str(text)? })
    }

    /// Decides the case with today's policy.
    ///
    /// # Errors
    /// A part of the case that cannot be read.
    pub fn replay(&self) -> Result<Replay, CaseError> {
        let machine = Machine::from_toml("case", text(&self.value, "machine")?)?;
        let features = Features::parse(text(&self.value, "preset")?)?;
        let hz = u32::try_from(number(&self.value, "hz")?).map_err(|_| form("hz is too large"))?;
        let mut sandbox = PolicySandbox::new(&machine, &features, hz)?;
        if self.value["schedutil"] == true {
            sandbox.start_governor(&machine);
        }
        load(&mut sandbox, &self.value)?;
        let question = Question::from_json(&self.value, &sandbox)?;
        if let Some(cpu) = question.balancer(&mut sandbox) {
            load_domains(&mut sandbox, cpu, &self.value)?;
        }
        load_shared(&mut sandbox, &question, &self.value)?;
        let answer = answer(&mut sandbox, &question);
        let kernel = self.value.get("kernel").cloned().ok_or_else(|| form("expected the answer `kernel`"))?;
        Ok(Replay { kernel, ours: answer.chosen, rule: answer.rule, why: answer.why })
    }
}

/// What a case names besides the state and the decision.
pub struct About<'a> {
    /// One line for readers of the file.
    pub about: String,
    /// Kind of the decision.
    pub kind: Kind,
    /// The machine on which the kernel ran.
    pub machine: &'a Arc<Machine>,
    /// Features of our policy.
    pub features: &'a Features,
}

struct Answer {
    chosen: Value,
    rule: String,
    why: Vec<String>,
}

fn answer(sandbox: &mut PolicySandbox, question: &Question) -> Answer {
    match question {
        Question::Pick { cpu, group, queued, protect } => {
            let (chosen, rule) = sandbox.pick(*cpu, *group, queued, *protect);
            let chosen = chosen.map_or(-1, i64::from);
            Answer { chosen: chosen.into(), rule: rule.into(), why: Vec::new() }
        }
        Question::Balance(attempt) => {
            let importer = StateImporter::new(sandbox);
            let (outcome, rule) = balance::attempted(sandbox, &importer, attempt);
            Answer { chosen: outcome.words().into(), rule, why: Vec::new() }
        }
        Question::Push(source) => {
            let (outcome, rule) = push::pushed(sandbox, source);
            Answer { chosen: outcome.words().into(), rule, why: Vec::new() }
        }
        Question::Scan { task, jiffies } => {
            let (outcome, rule) = caches::scanned(sandbox, *task, *jiffies);
            Answer { chosen: outcome.words().into(), rule, why: Vec::new() }
        }
        Question::Frequency(cpu, flags) => {
            let (outcome, rule) = frequency::looked(sandbox, *cpu, *flags);
            Answer { chosen: outcome.words().into(), rule, why: Vec::new() }
        }
        Question::Place(placing) => {
            let mut why = Box::new(FgWhy::zeroed());
            let verdict = sandbox.select(placing, Some(&mut why));
            let notes = why.note.iter().take(why.nr as usize).map(note_words).collect();
            Answer { chosen: verdict.cpu.into(), rule: rule_name(verdict.rule).into(), why: notes }
        }
    }
}

/// The input state. Tasks: all that a pointer or the question names.
fn state(sandbox: &mut PolicySandbox, question: &Question) -> Map<String, Value> {
    let mut sys = fields::write(sandbox.sys_mut());
    sys.remove("feat");
    let mut tasks = question.tasks();
    let mut cpus = Vec::new();
    for cpu in 0..sandbox.nr_cpus() as CpuId {
        let pointers = sandbox.pointers(cpu);
        tasks.extend(each(&pointers).filter_map(|(_, task)| task));
        let mut map = fields::write(sandbox.cpu_mut(cpu));
        let named = each(&pointers).filter_map(|(name, task)| Some((name.to_string(), json!(task?))));
        map.insert("points".into(), Value::Object(named.collect()));
        cpus.push(Value::Object(map));
    }
    tasks.sort_unstable();
    tasks.dedup();
    let caches = caches::state(sandbox, &tasks);
    let tasks = tasks.into_iter().filter(|task| *task < MAX_TASK).map(|task| task_json(sandbox, task)).collect();
    let mut llcs = Map::new();
    for cpu in 0..sandbox.nr_cpus() as CpuId {
        if let Some(llc) = sandbox.llc_mut(cpu).map(|llc| fields::write(llc)) {
            llcs.insert(cpu.to_string(), Value::Object(llc));
        }
    }
    let mut asym = Map::new();
    for cpu in (0..sandbox.nr_cpus() as CpuId).filter(|cpu| sandbox.leads_asym_shared(*cpu)).collect::<Vec<_>>() {
        if let Some(shared) = sandbox.asym_shared_mut(cpu).map(|shared| fields::write(shared)) {
            asym.insert(cpu.to_string(), Value::Object(shared));
        }
    }
    let mut all = Map::new();
    if !asym.is_empty() {
        all.insert("asym_shared".into(), Value::Object(asym));
    }
    all.insert("sys".into(), Value::Object(sys));
    all.insert("cpus".into(), Value::Array(cpus));
    all.insert("tasks".into(), Value::Array(tasks));
    all.insert("llcs".into(), Value::Object(llcs));
    all.extend(caches);
    all.insert("groups".into(), groups(sandbox));
    if sandbox.nr_task_groups() > 0 {
        all.insert("task_groups".into(), task_groups(sandbox));
    }
    if let Some(cpu) = question.balancer(sandbox) {
        let nr_domains = sandbox.nr_domains(cpu);
        let domain = |n| Value::Object(fields::write(sandbox.domain_mut(cpu, n)));
        let domains = (0..nr_domains).map(domain).collect();
        all.insert("domains".into(), Value::Array(domains));
    }
    if let Some(cpu) = question.partition(sandbox) {
        all.insert("root".into(), Value::Object(fields::write(sandbox.root_mut(cpu))));
    }
    all.insert("schedutil".into(), sandbox.sugov_mut(0).is_some().into());
    if let Question::Frequency(cpu, _) = question {
        let clock = sandbox.sugov_mut(*cpu).map_or_else(Map::new, |clock| fields::write(clock));
        all.insert("clock".into(), Value::Object(clock));
    }
    all
}

/// A task, with the number of its group unless that is the root group.
fn task_json(sandbox: &mut PolicySandbox, task: u32) -> Value {
    let mut map = fields::write(sandbox.task_mut(task));
    if let Some(group) = sandbox.task_group_of(task) {
        map.insert("group".into(), group.into());
    }
    Value::Object(map)
}

/// Task groups, parents before their children, with what they have on each CPU.
fn task_groups(sandbox: &mut PolicySandbox) -> Value {
    let mut all = Vec::new();
    for group in 0..sandbox.nr_task_groups() {
        let nr_cpus = sandbox.nr_cpus() as CpuId;
        let on = |cpu| Value::Object(fields::write(sandbox.task_group_on_mut(group, cpu)));
        let cpus: Vec<Value> = (0..nr_cpus).map(on).collect();
        let (parent, state) = (sandbox.task_group_parent(group), fields::write(sandbox.task_group_mut(group)));
        all.push(json!({ "parent": parent, "state": state, "cpus": cpus }));
    }
    Value::Array(all)
}

fn load_task_groups(sandbox: &mut PolicySandbox, from: &[Value]) -> Result<(), CaseError> {
    let parent = |(nr, group): (usize, &Value)| match group.get("parent").filter(|parent| !parent.is_null()) {
        None => Ok(None),
        Some(parent) => match parent.as_u64().and_then(|parent| usize::try_from(parent).ok()) {
            Some(parent) if parent < nr => Ok(Some(parent)),
            _ => Err(form(format!("task_groups[{nr}].parent: expected an earlier group, found {parent}"))),
        },
    };
    let parents = from.iter().enumerate().map(parent).collect::<Result<Vec<_>, _>>()?;
    sandbox.set_task_groups(&parents).map_err(form)?;
    for (nr, group) in from.iter().enumerate() {
        read("task_groups", sandbox.task_group_mut(nr), &group["state"])?;
        let cpus = list(group, "cpus")?;
        if cpus.len() != sandbox.nr_cpus() {
            return Err(form(format!("task_groups[{nr}].cpus: expected {}, found {}", sandbox.nr_cpus(), cpus.len())));
        }
        for (cpu, state) in cpus.iter().enumerate() {
            let id = sandbox.task_group_entity(nr);
            let on = sandbox.task_group_on_mut(nr, cpu as CpuId);
            read("task_groups", on, state)?;
            on.entity.id = id;
        }
    }
    Ok(())
}

fn groups(sandbox: &mut PolicySandbox) -> Value {
    let mut all = Vec::new();
    for ring in sandbox.rings() {
        for g in 0.. {
            let Some(group) = sandbox.group_mut(ring.cpu, ring.domain, g) else { break };
            let map = fields::write(group);
            all.push(json!({ "cpu": ring.cpu, "domain": ring.domain, "group": g, "state": map }));
        }
    }
    Value::Array(all)
}

fn each(p: &Pointers) -> impl Iterator<Item = (&'static str, Option<u32>)> {
    [("curr", p.curr), ("next", p.next), ("last", p.last), ("skip", p.skip)].into_iter()
}

fn load(sandbox: &mut PolicySandbox, from: &Value) -> Result<(), CaseError> {
    let feat = sandbox.sys_mut().feat.clone();
    read("sys", sandbox.sys_mut(), &from["sys"])?;
    sandbox.sys_mut().feat = feat;
    let groups = if from.get("task_groups").is_some() { list(from, "task_groups")? } else { &[] };
    check_counts(sandbox, groups.len())?;
    if !groups.is_empty() {
        load_task_groups(sandbox, groups)?;
    }
    for task in list(from, "tasks")? {
        let id = task_id(task.get("id").unwrap_or(&json!(0)))?;
        let mut state = object("tasks", task)?.clone();
        let group = state.remove("group").map(|group| group_of(sandbox, &group)).transpose()?;
        read("task", sandbox.task_mut(id), &Value::Object(state))?;
        sandbox.join_task_group(id, group);
        check_task(sandbox, id)?;
    }
    let cpus = list(from, "cpus")?;
    if cpus.len() != sandbox.nr_cpus() {
        return Err(form(format!("the machine has {} CPUs, the state {}", sandbox.nr_cpus(), cpus.len())));
    }
    for (cpu, state) in cpus.iter().enumerate() {
        let mut state = object("cpus", state)?.clone();
        let points = state.remove("points").unwrap_or(Value::Null);
        read("cpu", sandbox.cpu_mut(cpu as CpuId), &Value::Object(state))?;
        let id = sandbox.cpu_mut(cpu as CpuId).id;
        if usize::try_from(id) != Ok(cpu) {
            return Err(form(format!("cpus[{cpu}].id: expected {cpu}, found {id}")));
        }
        sandbox.point(cpu as CpuId, &pointers(&points)?);
    }
    for (cpu, state) in object("llcs", &from["llcs"])? {
        let cpu = cpu.parse().ok().filter(|c: &CpuId| (*c as usize) < sandbox.nr_cpus());
        let cpu = cpu.ok_or_else(|| form("llcs are named by CPUs of the machine"))?;
        let llc = sandbox.llc_mut(cpu).ok_or_else(|| form(format!("cpu{cpu} has no LLC")))?;
        read("llc", llc, state)?;
    }
    for (cpu, state) in from.get("asym_shared").map_or(Ok(&Map::new()), |all| object("asym_shared", all))? {
        let cpu = cpu.parse().ok().filter(|c: &CpuId| (*c as usize) < sandbox.nr_cpus());
        let cpu = cpu.ok_or_else(|| form("asym_shared is named by CPUs of the machine"))?;
        let shared = sandbox.asym_shared_mut(cpu);
        read("llc", shared.ok_or_else(|| form(format!("cpu{cpu} has no asymmetric domain")))?, state)?;
    }
    load_caches(sandbox, from)?;
    list(from, "groups")?.iter().try_for_each(|group| load_group(sandbox, group))
}

/// The state of cache-aware scheduling, as [`caches::state`] wrote it; cases without it have none.
fn load_caches(sandbox: &mut PolicySandbox, from: &Value) -> Result<(), CaseError> {
    for process in from.get("processes").map_or(Ok(&[][..]), |_| list(from, "processes"))? {
        let mut state = object("processes", process)?.clone();
        let times = state.remove("cpus").unwrap_or(json!([]));
        let tasks = state.remove("tasks").unwrap_or(json!([]));
        let id = task_id(state.get("id").unwrap_or(&json!(0)))?;
        read("process", sandbox.process_mut(id), &Value::Object(state))?;
        for (cpu, time) in times.as_array().into_iter().flatten().take(sandbox.nr_cpus()).enumerate() {
            read("processes.cpus", sandbox.cache_time_mut(id, cpu as CpuId), time)?;
        }
        for task in tasks.as_array().into_iter().flatten() {
            sandbox.point_process(task_id(task)?, Some(id));
        }
    }
    for (cpu, counts) in from.get("llc_counts").map_or(Ok(&Map::new()), |all| object("llc_counts", all))? {
        let cpu = cpu.parse().ok().filter(|c: &CpuId| (*c as usize) < sandbox.nr_cpus());
        let cpu = cpu.ok_or_else(|| form("llc_counts are named by CPUs of the machine"))?;
        for (llc, n) in counts.as_array().into_iter().flatten().enumerate().take(sandbox.nr_cpus()) {
            let n = n.as_u64().and_then(|n| u32::try_from(n).ok()).ok_or_else(|| form("llc_counts are numbers"))?;
            sandbox.llc_count_mut(cpu, llc).into_iter().for_each(|to| *to = n);
        }
    }
    Ok(())
}

/// Checks the counts of CPUs and task groups, which bound the policy's loops.
fn check_counts(sandbox: &mut PolicySandbox, nr_groups: usize) -> Result<(), CaseError> {
    let expected = [("nr_cpus", sandbox.nr_cpus()), ("nr_tgs", nr_groups)];
    let found = [sandbox.sys_mut().nr_cpus, sandbox.sys_mut().nr_tgs];
    match expected.into_iter().zip(found).find(|((_, there), found)| *there != *found as usize) {
        Some(((key, there), found)) => Err(form(format!("sys.{key}: the machine has {there}, the state {found}"))),
        None => Ok(()),
    }
}

/// Checks the CPUs in a task, which the policy uses as indexes.
fn check_task(sandbox: &mut PolicySandbox, id: u32) -> Result<(), CaseError> {
    let nr_cpus = sandbox.nr_cpus();
    let task = sandbox.task_mut(id);
    let there = |cpu: i32| usize::try_from(cpu).is_ok_and(|cpu| cpu < nr_cpus);
    match [("cpu", task.cpu), ("recent_used", task.recent_used)].into_iter().find(|(_, cpu)| !there(*cpu)) {
        Some((key, cpu)) => Err(form(format!("tasks[{id}].{key}: the machine has no CPU {cpu}"))),
        None => Ok(()),
    }
}

fn load_group(sandbox: &mut PolicySandbox, from: &Value) -> Result<(), CaseError> {
    let (cpu, domain, g) = (cpu_of(sandbox, from, "cpu")?, number(from, "domain")?, number(from, "group")?);
    let missing = || form(format!("cpu{cpu} has no group {g} in its domain {domain}"));
    let (domain, g) = (usize::try_from(domain).map_err(|_| missing())?, usize::try_from(g).map_err(|_| missing())?);
    if domain >= sandbox.nr_domains(cpu) {
        return Err(missing());
    }
    read("group", sandbox.group_mut(cpu, domain, g).ok_or_else(missing)?, &from["state"])
}

/// The domains of the balancing CPU.
fn load_domains(sandbox: &mut PolicySandbox, cpu: CpuId, from: &Value) -> Result<(), CaseError> {
    let (domains, nr) = (list(from, "domains")?, sandbox.nr_domains(cpu));
    if domains.len() != nr {
        return Err(form(format!("cpu{cpu} has {nr} domains, the state {}", domains.len())));
    }
    for (n, state) in domains.iter().enumerate() {
        read("domain", sandbox.domain_mut(cpu, n), state)?;
    }
    Ok(())
}

/// The shared state of the CPU's root domain and of its frequency domain. Cases of placements that were recorded before
/// energy models have neither.
fn load_shared(sandbox: &mut PolicySandbox, question: &Question, from: &Value) -> Result<(), CaseError> {
    if let Some((cpu, root)) = question.partition(sandbox).zip(from.get("root")) {
        read("root", sandbox.root_mut(cpu), root)?;
    }
    if let Question::Frequency(cpu, _) = question {
        let clock =
            sandbox.sugov_mut(*cpu).ok_or_else(|| form(format!("schedutil does not set the clock of cpu{cpu}")))?;
        read("clock", clock, &from["clock"])?;
    }
    Ok(())
}

fn pointers(from: &Value) -> Result<Pointers, CaseError> {
    let task = |name: &str| from.get(name).map(task_id).transpose();
    Ok(Pointers { curr: task("curr")?, next: task("next")?, last: task("last")?, skip: task("skip")? })
}

impl Question {
    fn word(&self) -> &'static str {
        match self {
            Question::Place(_) => "placing",
            Question::Pick { .. } => "picking",
            Question::Balance(_) => "balancing",
            Question::Push(_) => "pushing",
            Question::Scan { .. } => "scanning",
            Question::Frequency(..) => "governing",
        }
    }

    /// The CPU whose domains the case needs.
    fn balancer(&self, sandbox: &mut PolicySandbox) -> Option<CpuId> {
        match self {
            Question::Balance(attempt) => Some(attempt.cpu),
            Question::Push(source) => Some(push_target(sandbox, source.cpu)),
            Question::Place(_) | Question::Pick { .. } | Question::Scan { .. } | Question::Frequency(..) => None,
        }
    }

    /// The CPU whose root domain the case needs.
    fn partition(&self, sandbox: &mut PolicySandbox) -> Option<CpuId> {
        match self {
            Question::Place(placing) => Some(placing.this_cpu),
            _ => self.balancer(sandbox),
        }
    }

    fn tasks(&self) -> Vec<u32> {
        match self {
            Question::Place(p) => std::iter::once(p.task).chain(p.current).collect(),
            Question::Pick { queued, .. } => queued.clone(),
            Question::Balance(attempt) => attempt.sources.iter().flat_map(|s| s.tasks.clone()).collect(),
            Question::Push(source) => source.tasks.clone(),
            Question::Scan { task, .. } => vec![*task],
            Question::Frequency(..) => Vec::new(),
        }
    }

    fn json(&self) -> Value {
        match self {
            Question::Place(p) => json!({
                "task": p.task, "current": p.current, "now": p.now, "this_cpu": p.this_cpu, "flags": p.flags
            }),
            Question::Pick { cpu, group, queued, protect } => {
                let mut pick = json!({ "cpu": cpu, "queued": queued, "protect": protect });
                if let (Some(group), Some(pick)) = (group, pick.as_object_mut()) {
                    pick.insert("group".into(), json!(group));
                }
                pick
            }
            Question::Balance(attempt) => attempt_json(attempt),
            Question::Push(source) => source_json(source),
            Question::Scan { task, jiffies } => json!({ "task": task, "jiffies": jiffies }),
            Question::Frequency(cpu, flags) => json!({ "cpu": cpu, "flags": flags }),
        }
    }

    fn from_json(case: &Value, sandbox: &PolicySandbox) -> Result<Question, CaseError> {
        if let Some(pick) = case.get("picking") {
            let queued = list(pick, "queued")?.iter().map(|id| entity_of(sandbox, id)).collect::<Result<_, _>>()?;
            let protect = pick.get("protect").and_then(Value::as_bool).unwrap_or(true);
            let group = pick.get("group").map(|group| group_of(sandbox, group)).transpose()?;
            return Ok(Question::Pick { cpu: cpu_of(sandbox, pick, "cpu")?, group, queued, protect });
        }
        if let Some(pass) = case.get("balancing") {
            return Ok(Question::Balance(attempt_from(pass, sandbox)?));
        }
        if let Some(source) = case.get("pushing") {
            return Ok(Question::Push(source_from(source, sandbox)?));
        }
        if let Some(scan) = case.get("scanning") {
            return Ok(Question::Scan { task: task_id(&scan["task"])?, jiffies: ns(scan, "jiffies")? });
        }
        if let Some(look) = case.get("governing") {
            let flags = u32::try_from(number(look, "flags")?).map_err(|_| form("flags are too large"))?;
            return Ok(Question::Frequency(cpu_of(sandbox, look, "cpu")?, flags));
        }
        let from = &case["placing"];
        let flags = u32::try_from(number(from, "flags")?).map_err(|_| form("flags are too large"))?;
        Ok(Question::Place(Placing {
            task: task_id(&from["task"])?,
            current: Some(&from["current"]).filter(|c| !c.is_null()).map(task_id).transpose()?,
            now: ns(from, "now")?,
            this_cpu: cpu_of(sandbox, from, "this_cpu")?,
            flags,
        }))
    }
}

fn source_json(s: &SourceQueue) -> Value {
    json!({ "cpu": s.cpu, "clock": s.clock, "irq_ns": s.irq_ns, "tasks": s.tasks })
}

fn source_from(s: &Value, sandbox: &PolicySandbox) -> Result<SourceQueue, CaseError> {
    let tasks = list(s, "tasks")?.iter().map(task_id).collect::<Result<_, _>>()?;
    Ok(SourceQueue { cpu: cpu_of(sandbox, s, "cpu")?, clock: ns(s, "clock")?, irq_ns: ns(s, "irq_ns")?, tasks })
}

fn attempt_json(attempt: &BalanceInput) -> Value {
    let sources: Vec<Value> = attempt.sources.iter().map(source_json).collect();
    let BalanceInput { cpu, domain, kind, jiffies, stopper_is_listed, .. } = attempt;
    let mut json = json!({ "cpu": cpu, "domain": domain, "kind": kind, "jiffies": jiffies, "sources": sources });
    if *stopper_is_listed {
        json["stopper_is_listed"] = true.into();
    }
    json
}

fn attempt_from(from: &Value, sandbox: &PolicySandbox) -> Result<BalanceInput, CaseError> {
    let cpu = cpu_of(sandbox, from, "cpu")?;
    let domain = usize::try_from(number(from, "domain")?).ok().filter(|n| *n < sandbox.nr_domains(cpu));
    Ok(BalanceInput {
        cpu,
        domain: domain.ok_or_else(|| form(format!("cpu{cpu} has no such domain")))?,
        kind: u32::try_from(number(from, "kind")?).map_err(|_| form("kind is too large"))?,
        jiffies: ns(from, "jiffies")?,
        sources: list(from, "sources")?.iter().map(|s| source_from(s, sandbox)).collect::<Result<_, _>>()?,
        stopper_is_listed: from["stopper_is_listed"].as_bool().unwrap_or(false),
    })
}

/// Bound on the tasks of a case: more than any recorded one has.
const MAX_TASK: u32 = 1 << 20;

fn task_id(value: &Value) -> Result<u32, CaseError> {
    let id = value.as_u64().and_then(|id| u32::try_from(id).ok()).filter(|id| *id < MAX_TASK);
    id.ok_or_else(|| form(format!("expected a task's number, found {value}")))
}

/// A task or a task group.
fn entity_of(sandbox: &PolicySandbox, value: &Value) -> Result<u32, CaseError> {
    let groups = (0..sandbox.nr_task_groups()).map(|group| sandbox.task_group_entity(group));
    match groups.into_iter().find(|id| value.as_u64() == Some(u64::from(*id))) {
        Some(id) => Ok(id),
        None => task_id(value),
    }
}

fn group_of(sandbox: &PolicySandbox, value: &Value) -> Result<usize, CaseError> {
    let group = value.as_u64().and_then(|group| usize::try_from(group).ok());
    let group = group.filter(|group| *group < sandbox.nr_task_groups());
    group.ok_or_else(|| form(format!("group: expected one of {}, found {value}", sandbox.nr_task_groups())))
}

fn cpu_of(sandbox: &PolicySandbox, from: &Value, key: &str) -> Result<CpuId, CaseError> {
    let cpu = number(from, key)?;
    let found = CpuId::try_from(cpu).ok().filter(|c| (*c as usize) < sandbox.nr_cpus());
    found.ok_or_else(|| form(format!("{key}: the machine has no CPU {cpu}")))
}

fn read(what: &str, to: &mut dyn Fields, from: &Value) -> Result<(), CaseError> {
    fields::read(to, object(what, from)?).map_err(|e| form(format!("{what}: {e}")))
}

fn object<'a>(what: &str, value: &'a Value) -> Result<&'a Map<String, Value>, CaseError> {
    value.as_object().ok_or_else(|| form(format!("{what}: expected members by name, found {value}")))
}

fn list<'a>(from: &'a Value, key: &str) -> Result<&'a [Value], CaseError> {
    let found = from.get(key).and_then(Value::as_array);
    found.map(Vec::as_slice).ok_or_else(|| form(format!("expected the list `{key}`")))
}

fn number(from: &Value, key: &str) -> Result<i64, CaseError> {
    from.get(key).and_then(Value::as_i64).ok_or_else(|| form(format!("expected the number `{key}`")))
}

fn ns(from: &Value, key: &str) -> Result<u64, CaseError> {
    from.get(key).and_then(Value::as_u64).ok_or_else(|| form(format!("expected the number `{key}`")))
}

fn text<'a>(from: &'a Value, key: &str) -> Result<&'a str, CaseError> {
    from.get(key).and_then(Value::as_str).ok_or_else(|| form(format!("expected the text `{key}`")))
}

fn form(what: impl Into<String>) -> CaseError {
    CaseError::Form(what.into())
}
