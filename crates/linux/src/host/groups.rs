//! Task groups of a workload, made by the kernel's own code.

use std::ffi::CString;

use fairground_workload::{GroupClamp, TaskGroup};

use super::LinuxError;
use crate::abi::KsKernel;

/// A group in the kernel.
pub(super) struct Group {
    /// Its number in the kernel library.
    pub id: i32,
    /// Path of the group, from the root group.
    path: String,
    /// It, or one around it, has a bandwidth limit.
    pub limited: bool,
}

/// Makes the groups, parents first, and writes their files.
///
/// # Errors
/// Which group or file the kernel refuses.
///
/// # Safety
/// Within a call of the kernel's code.
pub(super) unsafe fn make(kernel: &KsKernel, wanted: &[TaskGroup]) -> Result<Vec<Group>, LinuxError> {
    let mut groups: Vec<Group> = Vec::new();
    for group in wanted {
        let parent = group.parent.map(|p| &groups[p as usize]);
        let limited = parent.is_some_and(|p| p.limited) || group.files.iter().any(|(file, _)| file == "cpu.max");
        // SAFETY: as the caller guarantees.
        let id = unsafe { (kernel.group_new)(parent.map_or(0, |p| p.id)) };
        if id < 0 {
            return Err(LinuxError::Group { path: group.path.clone(), code: id });
        }
        let made = Group { id, path: group.path.clone(), limited };
        for (file, value) in &group.files {
            // SAFETY: as the caller guarantees.
            unsafe { write(kernel, &made, file, value) }?;
        }
        groups.push(made);
    }
    Ok(groups)
}

/// Changes a clamp during the run.
///
/// # Errors
/// That the kernel refuses it.
///
/// # Safety
/// Within a call of the kernel's code.
pub(super) unsafe fn write_clamp(kernel: &KsKernel, group: &Group, new: &GroupClamp) -> Result<(), LinuxError> {
    // SAFETY: as the caller guarantees.
    unsafe { write(kernel, group, new.clamp.file(), &new.value.to_string()) }
}

/// # Safety
/// Within a call of the kernel's code.
unsafe fn write(kernel: &KsKernel, group: &Group, file: &str, value: &str) -> Result<(), LinuxError> {
    let refused = |code| {
        let (path, file, value) = (group.path.clone(), file.into(), value.into());
        Err(LinuxError::GroupFile { path, file, value, code })
    };
    let (Ok(c_file), Ok(c_value)) = (CString::new(file), CString::new(value)) else {
        // A zero byte: as the kernel would say.
        return refused(-22);
    };
    // SAFETY: C strings for the time of the call.
    match unsafe { (kernel.group_write)(group.id, c_file.as_ptr(), c_value.as_ptr()) } {
        code if code < 0 => refused(code),
        _ => Ok(()),
    }
}
