//! Tables that leave over Arrow's C stream interface: pyarrow, pandas and polars take them without a copy.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch,
    RecordBatchIterator, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{Field, Schema};
use fairground_trace::{Column, EventTable, TextColumn};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Rows and named columns. Give it to `pyarrow.table`, `polars.DataFrame` or any library that knows Arrow's
/// C stream interface; or call one of its methods.
#[pyclass(frozen, module = "fairground")]
pub struct Table(RecordBatch);

/// A column with its name.
pub type NamedColumn = (&'static str, ArrayRef);

/// A column of strings.
pub fn texts(words: impl Iterator<Item = impl AsRef<str>>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(words))
}

/// A column of booleans.
pub fn booleans(values: impl Iterator<Item = bool>) -> ArrayRef {
    Arc::new(BooleanArray::from_iter(values.map(Some)))
}

/// A column of figures; none: not known.
pub fn figures(values: impl Iterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(Float64Array::from_iter(values))
}

/// A column of counts that may be missing.
pub fn maybe_counts(values: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter(values))
}

/// A column of numbers with a sign that may be missing.
pub fn maybe_integers(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(Int64Array::from_iter(values))
}

/// A column of words that may be missing.
pub fn maybe_texts<'a>(words: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(StringArray::from_iter(words))
}

/// A column of yes, no, and neither.
pub fn maybe_booleans(values: impl Iterator<Item = Option<bool>>) -> ArrayRef {
    Arc::new(BooleanArray::from_iter(values))
}

/// A column of numbers that are small, CPUs and the like.
pub fn numbers(values: impl Iterator<Item = u32>) -> ArrayRef {
    Arc::new(UInt32Array::from_iter_values(values))
}

/// The same, of which some may be missing.
pub fn maybe_numbers(values: impl Iterator<Item = Option<u32>>) -> ArrayRef {
    Arc::new(UInt32Array::from_iter(values))
}

/// A column of counts.
pub fn counts(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}

impl Table {
    /// Columns of one length.
    pub fn from_columns(columns: Vec<NamedColumn>) -> Table {
        Table::named(columns.into_iter().map(|(name, column)| (name.to_owned(), column)).collect())
    }

    /// Columns of one length, whose names are found as they are made.
    pub fn named(columns: Vec<(String, ArrayRef)>) -> Table {
        let field =
            |(name, column): &(String, ArrayRef)| Field::new(name, column.data_type().clone(), column.null_count() > 0);
        let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        // Columns of one table are made of one sequence each.
        Table(RecordBatch::try_new(Arc::new(schema), columns).unwrap_or_else(|e| unreachable!("{e}")))
    }
}

impl From<&EventTable> for Table {
    /// The event's own fields keep their names; what runs there when it happens is `comm` and `pid` with two underscores in
    /// front, as LISA has it.
    fn from(events: &EventTable) -> Table {
        let mut columns: Vec<(String, ArrayRef)> = vec![
            ("time_ns".into(), Arc::new(UInt64Array::from_iter_values(events.time_ns.iter().copied()))),
            ("__cpu".into(), numbers(events.cpu.iter().copied())),
            ("__comm".into(), words(&events.comm)),
            ("__pid".into(), numbers(events.pid.iter().copied())),
        ];
        let array = |column: &Column| -> ArrayRef {
            match column {
                Column::Unsigned(numbers) => Arc::new(UInt64Array::from_iter_values(numbers.iter().copied())),
                Column::Signed(numbers) => Arc::new(Int64Array::from_iter_values(numbers.iter().copied())),
                Column::Text(texts) => words(texts),
            }
        };
        columns.extend(events.fields.iter().map(|(name, column)| (name.clone(), array(column))));
        Table::named(columns)
    }
}

/// Indices are signed: pandas takes no others.
fn words(texts: &TextColumn) -> ArrayRef {
    let values = StringArray::from_iter_values(&texts.words);
    // Words are fewer than tasks and names, far below 2^31.
    let codes: Int32Array = texts.codes.iter().map(|code| *code as i32).collect();
    let dictionary = DictionaryArray::<Int32Type>::try_new(codes, Arc::new(values));
    // Every code is the index of a word.
    Arc::new(dictionary.unwrap_or_else(|e| unreachable!("{e}")))
}

#[pymethods]
impl Table {
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("<fairground.Table of {} rows: {}>", self.0.num_rows(), self.column_names().join(", "))
    }

    /// The table as a PyCapsule of Arrow's C stream interface. `requested_schema` is not heeded, which the interface
    /// allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let schema = self.0.schema();
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// As a `pyarrow.Table`; no values are copied.
    fn to_pyarrow<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    /// As a `pandas.DataFrame`. Words become categories.
    fn to_pandas<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Table::to_pyarrow(slf)?.call_method0("to_pandas")
    }

    /// As a `polars.DataFrame`; no values are copied. Words become categories.
    fn to_polars<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.call_method1("DataFrame", (slf,))
    }
}
