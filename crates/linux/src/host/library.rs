//! A built kernel, loaded and checked.

use std::ffi::{c_void, CStr};
use std::path::{Path, PathBuf};

use fairground_fair::ffi::*;
use fairground_machine::Machine;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use super::LinuxError;
use crate::abi::{check_layout, KsKernel, KsRead, FUNCTIONS, KS_ABI, READ_FUNCTIONS};

/// musl's dlopen(3) says less.
const STATIC: &str =
    "this command is a static program, which cannot load libraries; one built for the C library of the machine can";

/// A loaded kernel that has not booted. It stays loaded until the process ends.
#[derive(Clone, Copy)]
pub struct Kernel {
    pub(super) abi: &'static KsKernel,
}

impl Kernel {
    /// Loads `libksched.so` and checks that all of it is there. Its code does not run yet, except constructors and the
    /// function that returns its tables.
    ///
    /// # Errors
    /// What the dynamic linker says, or that the program is a static one; a library of another size or version; the name of a function that is missing.
    pub fn load(path: &Path) -> Result<Kernel, LinuxError> {
        check_layout()?;
        if cfg!(target_feature = "crt-static") {
            return Err(LinuxError::Load { path: path.into(), cause: STATIC.into() });
        }
        let cause = |e: libloading::Error| LinuxError::Load { path: path.into(), cause: e.to_string() };
        // SAFETY: the user who names the library trusts its constructors; a built kernel has none.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(cause)?;
        // SAFETY: the type of ks_kernel() in ks.h; what it returns is looked at before it is believed.
        let table = unsafe {
            let ks_kernel = library.get::<unsafe extern "C" fn() -> *const c_void>(b"ks_kernel\0").map_err(cause)?;
            ks_kernel()
        };
        // The kernel's state lives in it.
        std::mem::forget(library);
        // SAFETY: a constant table of the library, which stays.
        unsafe { checked(table) }.map(|abi| Kernel { abi }).map_err(|what| foreign(path, what))
    }

    /// Whether the kernel can serve this machine at this tick rate.
    ///
    /// # Errors
    /// What it was not built for.
    pub fn fits(&self, machine: &Machine, hz: u32) -> Result<(), LinuxError> {
        let (cpus, max) = (machine.nr_cpus(), self.max_cpus());
        if cpus > max as usize {
            return Err(LinuxError::TooManyCpus { cpus, max });
        }
        match self.hz() == hz {
            true => Ok(()),
            false => Err(LinuxError::Hz { run: hz, built: self.hz() }),
        }
    }

    /// CONFIG_HZ: what [`fairground_sim::Config::hz`] must be.
    pub fn hz(&self) -> u32 {
        self.abi.hz
    }

    /// The most CPUs the kernel supports (CONFIG_NR_CPUS).
    pub fn max_cpus(&self) -> u32 {
        self.abi.max_cpus
    }

    /// Members of the policy's structs that the tree does not keep, e.g. `fg_cpu.wake_avg_idle`.
    pub fn unobserved(&self) -> Vec<String> {
        // SAFETY: checked not to be null; both tables and the string are constants of the library.
        let words = unsafe { CStr::from_ptr((*self.abi.read).unobserved) }.to_string_lossy();
        words.split_whitespace().map(String::from).collect()
    }

    /// As the tree calls itself, e.g. `6.12.117`.
    pub fn release(&self) -> String {
        // SAFETY: checked not to be null; a string constant of the library.
        unsafe { CStr::from_ptr(self.abi.release) }.to_string_lossy().into_owned()
    }
}

fn foreign(path: &Path, what: String) -> LinuxError {
    LinuxError::Foreign { path: PathBuf::from(path), what }
}

/// The table, if it is ours and complete.
///
/// # Safety
/// `table` is null or points to as many readable bytes as its first u64 says, at least 16 of them, for ever.
unsafe fn checked(table: *const c_void) -> Result<&'static KsKernel, String> {
    if table.is_null() {
        return Err("ks_kernel() returns nothing".into());
    }
    // SAFETY: the first 16 bytes are there: u64 size, u32 abi.
    let (size, abi) = unsafe { (*table.cast::<u64>(), *table.cast::<u32>().add(2)) };
    if abi != KS_ABI {
        return Err(format!("its border has version {abi}, expected {KS_ABI}"));
    }
    let expected = size_of::<KsKernel>();
    if size != expected as u64 {
        return Err(format!("its table has {size} bytes, expected {expected}"));
    }
    // SAFETY: a table of the right size.
    unsafe { complete(table, FUNCTIONS) }?;
    // SAFETY: within the table.
    let read = unsafe { *table.byte_add(std::mem::offset_of!(KsKernel, read)).cast::<*const c_void>() };
    // SAFETY: null, or a table that says its size first.
    if read.is_null() || unsafe { *read.cast::<u64>() } != size_of::<KsRead>() as u64 {
        return Err("its table of reading functions is missing or of another size".into());
    }
    // SAFETY: a table of the right size.
    unsafe { complete(read, READ_FUNCTIONS) }?;
    // SAFETY: as above; all functions are there, and any number and pointer may stand in the rest.
    let read = unsafe { &*read.cast::<KsRead>() };
    if read.unobserved.is_null() {
        return Err("it does not say what it cannot read".into());
    }
    same_structs(read)?;
    // SAFETY: as above.
    if unsafe { (*table.byte_add(std::mem::offset_of!(KsKernel, release)).cast::<*const c_void>()).is_null() } {
        return Err("its release is missing".into());
    }
    // SAFETY: size, version and every pointer are as the type says.
    Ok(unsafe { &*table.cast() })
}

/// Whether the library fills the policy's structs as they are here.
fn same_structs(read: &KsRead) -> Result<(), String> {
    let sizes = [
        ("fg_cpu", read.sizeof_cpu, size_of::<FgCpu>()),
        ("fg_task", read.sizeof_task, size_of::<FgTask>()),
        ("fg_group", read.sizeof_group, size_of::<FgGroup>()),
        ("fg_domain", read.sizeof_domain, size_of::<FgDomain>()),
        ("fg_llc", read.sizeof_llc, size_of::<FgLlc>()),
        ("fg_root", read.sizeof_root, size_of::<FgRoot>()),
        ("fg_avg", read.sizeof_avg, size_of::<FgAvg>()),
        ("fg_frequency_limits", read.sizeof_frequency_limits, size_of::<FgFrequencyLimits>()),
        ("fg_opp", read.sizeof_opp, size_of::<FgOpp>()),
        ("fg_sugov", read.sizeof_sugov, size_of::<FgSugov>()),
        ("fg_tg", read.sizeof_tg, size_of::<FgTg>()),
        ("fg_tg_cpu", read.sizeof_tg_cpu, size_of::<FgTgCpu>()),
        ("fg_process", read.sizeof_process, size_of::<FgProcess>()),
        ("fg_cache_time", read.sizeof_cache_time, size_of::<FgCacheTime>()),
    ];
    match sizes.into_iter().find(|(_, theirs, ours)| *theirs as usize != *ours) {
        None => Ok(()),
        Some((name, theirs, ours)) => Err(format!("its struct {name} has {theirs} bytes, expected {ours}")),
    }
}

/// Whether all functions of a table are there.
///
/// # Safety
/// `table` is a repr(C) struct that has pointers at these places.
unsafe fn complete(table: *const c_void, functions: &[(&str, usize)]) -> Result<(), String> {
    for (name, at) in functions {
        // SAFETY: within the table; a pointer of a repr(C) struct, hence aligned.
        if unsafe { (*table.byte_add(*at).cast::<*const c_void>()).is_null() } {
            return Err(format!("the function {name} is missing"));
        }
    }
    Ok(())
}
