//! The answer in the documented schema (docs/json.md).

use serde_json::{json, Value};

use super::{mean, Review};
use crate::decisions::Explained;
use crate::measure::{Judged, Measured};

/// Name and version of the schema.
const SCHEMA: &str = "fairground-review-1";

/// The answer as JSON.
pub fn json(review: &Review) -> String {
    let cells: Vec<Value> = review.measured.cells.iter().map(|cell| of_cell(review, cell)).collect();
    let explained: Vec<Value> = review.explained.iter().map(of_explained).collect();
    let document = json!({
        "schema": SCHEMA,
        "title": review.stages.title,
        "verdict": review.verdict(),
        "source": review.stages.source,
        "base": review.stages.base,
        "patches": review.stages.members,
        "stages": review.stages.stages,
        "matrix": {
            "name": review.matrix.name,
            "machines": review.matrix.machines(),
            "workloads": review.matrix.workloads(),
            "first_seed": review.matrix.first_seed,
            "seeds": review.matrix.seeds,
            "draws": review.matrix.draws,
            "rows": review.measured.rows(),
        },
        "cells": cells,
        "decisions": explained,
        "costs": review.costs,
        "failed": review.failed_runs(),
        "not_judged": review.not_judged(),
        "made_by": review.by,
    });
    format!("{document:#}\n")
}

fn of_cell(review: &Review, cell: &Measured) -> Value {
    json!({
        "machine": cell.cell.machine,
        "workload": cell.cell.workload,
        "options": cell.cell.options,
        "stage": cell.last,
        "pairs": cell.pairs,
        "identical": cell.identical,
        "rows": cell.rows.iter().map(|judged| of_row(review, judged)).collect::<Vec<Value>>(),
        "failures": cell.failures,
        "notes": cell.notes,
    })
}

fn of_row(review: &Review, judged: &Judged) -> Value {
    let row = &judged.row;
    let shares: Vec<Value> = judged
        .shares
        .iter()
        .map(|share| {
            json!({
                "patches": review.stages.stages[share.stage].patches,
                "diff": share.change.diff,
                "improvement_pct": share.pct,
                "ci95": share.ci95,
                "p_adjusted": share.change.p_adjusted,
                "attributed": share.change.starred(),
            })
        })
        .collect();
    json!({
        "metric": row.metric.name,
        "unit": row.metric.unit,
        "better": row.metric.better.word(),
        "base": mean(&row.base),
        "series": mean(&row.test),
        "diff": row.change.diff,
        "improvement_pct": row.change.improvement_pct,
        "ci95": row.change.ci95,
        "model": row.model,
        "p_adjusted": row.change.p_adjusted,
        "verdict": row.change.verdict,
        "shares": shares,
    })
}

fn of_explained(explained: &Explained) -> Value {
    json!({
        "machine": explained.cell.machine,
        "workload": explained.cell.workload,
        "options": explained.cell.options,
        "seed": explained.seed,
        "stages": explained.stages,
        "scheds": explained.scheds,
        "parted": explained.parted.as_ref().ok(),
        "problem": explained.parted.as_ref().err(),
        "commands": explained.commands(),
        "traces": explained.traces.as_ref().and_then(|traces| traces.as_ref().ok()),
        "traces_problem": explained.traces.as_ref().and_then(|traces| traces.as_ref().err()),
    })
}
