//! A log-linear histogram of durations: deterministic, constant memory.

/// Values below this are kept exactly; above, every octave is split into this many buckets.
const SUB: u64 = 256;
const SUB_BITS: u32 = SUB.trailing_zeros();

/// Durations in ns, or in ticks of a clock. Resolution: exact up to 511, then better than half a percent (1/256 of the
/// octave, the shape of fio's and schbench's histograms); count, sum, least and greatest are exact.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

fn bucket_of(value: u64) -> usize {
    if value < SUB {
        return value as usize;
    }
    let octave = value.ilog2() - SUB_BITS;
    ((u64::from(octave) + 1) * SUB + ((value >> octave) & (SUB - 1))) as usize
}

/// The middle of a bucket.
fn value_of(bucket: usize) -> u64 {
    let (row, column) = (bucket as u64 / SUB, bucket as u64 % SUB);
    if row == 0 {
        return column;
    }
    let octave = row - 1;
    ((SUB + column) << octave) + ((1 << octave) >> 1)
}

impl Histogram {
    /// Adds one duration, ns.
    pub fn record(&mut self, value: u64) {
        let bucket = bucket_of(value);
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.count += 1;
        self.sum += u128::from(value);
    }

    /// Adds the durations of another.
    pub fn add(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        if other.buckets.len() > self.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        self.buckets.iter_mut().zip(&other.buckets).for_each(|(n, more)| *n += more);
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum += other.sum;
    }

    /// Number of durations recorded.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of all durations, ns.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The greatest, ns; 0 if there is none.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The mean, ns; 0 if there is none.
    pub fn mean(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        self.sum as f64 / self.count as f64
    }

    /// The smallest duration that `permille` thousandths of all do not exceed, within the resolution, ns; 0 if there
    /// is none.
    pub fn permille(&self, permille: u64) -> u64 {
        self.permille_as_printed(permille).clamp(self.min, self.max)
    }

    /// The same as fio and schbench print it: the middle of its bucket, even if that is beyond the greatest.
    pub fn permille_as_printed(&self, permille: u64) -> u64 {
        let rank = (u128::from(self.count) * u128::from(permille)).div_ceil(1000).max(1);
        let mut below = 0;
        for (bucket, n) in self.buckets.iter().enumerate() {
            below += u128::from(*n);
            if below >= rank {
                return value_of(bucket);
            }
        }
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_contiguous_and_finer_than_half_a_percent() {
        let mut last = 0;
        for v in (0..5000).chain([1 << 20, (1 << 20) + 9000, 1 << 40]) {
            let b = bucket_of(v);
            assert!(b == last || b == last + 1 || v >= 1 << 20, "{v}");
            last = b;
            assert!(value_of(b).abs_diff(v) * 256 <= v, "{v} -> {}", value_of(b));
        }
    }

    /// schbench's 14864 us are the bucket of 14848 to 14879, 32 us wide.
    #[test]
    fn near_15_ms_a_bucket_is_32_us_wide_and_prints_its_middle() {
        let mut h = Histogram::default();
        h.record(14850);
        assert_eq!((h.permille_as_printed(990), h.permille(990)), (14864, 14850));
        assert_eq!([14847, 14848, 14879, 14880].map(bucket_of).map(|b| b + 1 - bucket_of(14848)), [0, 1, 1, 2]);
        assert_eq!([256, 300, 511].map(|v| value_of(bucket_of(v))), [256, 300, 511]);
    }

    #[test]
    fn percentiles_of_one_to_a_hundred() {
        let mut h = Histogram::default();
        (1..=100).for_each(|v| h.record(v));
        assert_eq!([500, 950, 990, 1000].map(|p| h.permille(p)), [50, 95, 99, 100]);
        assert_eq!((h.count(), h.max(), h.mean()), (100, 100, 50.5));
        assert_eq!(Histogram::default().permille(990), 0);
    }
}
