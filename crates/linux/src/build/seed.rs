//! A first build under a name begins with the objects of the kernel in the cache that is most alike.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::cache::{Kernels, OtherWork};
use super::embedded::BUILD;
use super::error::BuildError;
use super::inputs::{self, Made};
use super::{files, pipeline};

/// Copies build directory and records of the nearest kernel into `work`, which has none. Only one of the same compiler
/// and release (`maker`) and C side (`own`) is taken; one with the same configuration (`made_with`) before another.
pub(super) fn plant(
    kernels: &Kernels,
    name: &str,
    tree: &Path,
    work: &Path,
    maker: &str,
    made_with: &str,
    own: &str,
) -> Result<(), BuildError> {
    let is = |path: &Path, text: &str| fs::read(path).is_ok_and(|content| content == text.as_bytes());
    let mut known = BTreeMap::new();
    let mut nearest: Option<(bool, usize, OtherWork)> = None;
    for other in kernels.other_work(name)? {
        let made = Made::read(&other.work.join(pipeline::MADE));
        let Some(made) = made.filter(|made| made.own == own && is(&other.work.join(pipeline::MAKER), maker)) else {
            continue;
        };
        let is_other = !is(&other.work.join(pipeline::PREPARED), made_with);
        let distance = inputs::difference(tree, &made.inputs, &mut known);
        if nearest.as_ref().is_none_or(|(other, best, _)| (is_other, distance) < (*other, *best)) {
            nearest = Some((is_other, distance, other));
        }
    }
    let Some((_, _, other)) = nearest else { return Ok(()) };
    let from = other.work.join(pipeline::OVERLAY);
    let to = work.join(pipeline::OVERLAY);
    copy(&from.join(BUILD), &to.join(BUILD), &|target| Some(to.join(target.strip_prefix(&from).ok()?)))?;
    for record in [pipeline::MAKER, pipeline::PREPARED, pipeline::DEFAULTS, pipeline::MADE] {
        let content = fs::read(other.work.join(record)).unwrap_or_default();
        files::write_changed(&work.join(record), &content)?;
    }
    Ok(())
}

/// Copies a directory. A link is copied with its target turned by `turn`, if that gives one.
fn copy(from: &Path, to: &Path, turn: &dyn Fn(&Path) -> Option<std::path::PathBuf>) -> Result<(), BuildError> {
    files::make_dir(to)?;
    for name in files::names(from)? {
        let (from, to) = (from.join(&name), to.join(&name));
        let meta = from.symlink_metadata().map_err(files::fail("read", &from))?;
        if meta.is_dir() {
            copy(&from, &to, turn)?;
        } else if meta.is_symlink() {
            let target = fs::read_link(&from).map_err(files::fail("read", &from))?;
            symlink(turn(&target).unwrap_or(target), &to).map_err(files::fail("link", &to))?;
        } else {
            fs::copy(&from, &to).map_err(files::fail("write", &to))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{fake, inputs::InputRecord};

    /// Leaves a kernel's work in a cache as a build does: an object made of fair.c of `tree`.
    fn work(cache: &fake::Cache, name: &str, tree: &Path, made_with: &str) {
        let work = cache.kernels.hold(name, &mut || {}).unwrap().work();
        let overlay = work.join(pipeline::OVERLAY);
        let cmd = "source_kernel/sched/fair.o := ../kernel/sched/fair.c\n";
        fake::write(&overlay, "build/kernel/sched/.fair.o.cmd", cmd);
        fake::write(&overlay, "build/kernel/sched/fair.o", name);
        symlink(&overlay, overlay.join("build/source")).unwrap();
        fake::write(&work, pipeline::MAKER, "gcc");
        fake::write(&work, pipeline::PREPARED, made_with);
        let inputs = InputRecord::read(&overlay).unwrap().inputs(tree, i64::MAX).unwrap();
        Made { since: i64::MAX, inputs, own: "ours".into() }.write(&work.join(pipeline::MADE)).unwrap();
    }

    fn planted(cache: &fake::Cache, tree: &Path, maker: &str, made_with: &str) -> Option<String> {
        let held = cache.kernels.hold("new", &mut || {}).unwrap();
        plant(&cache.kernels, "new", tree, &held.work(), maker, made_with, "ours").unwrap();
        let build = held.work().join(pipeline::OVERLAY).join(BUILD);
        let object = fs::read_to_string(build.join("kernel/sched/fair.o")).ok()?;
        assert_eq!(fs::read_link(build.join("source")).unwrap(), held.work().join(pipeline::OVERLAY));
        assert!(Made::read(&held.work().join(pipeline::MADE)).is_some());
        files::remove_dir(&held.work()).unwrap();
        Some(object)
    }

    #[test]
    fn the_nearest_kernel_of_the_same_compiler_is_taken() {
        let cache = fake::cache(&[]);
        let (near, far) = (fake::tree("VERSION = 6\nPATCHLEVEL = 12\n"), fake::tree("VERSION = 6\nPATCHLEVEL = 12\n"));
        fake::write(far.path(), "kernel/sched/fair.c", "patched");
        work(&cache, "far", far.path(), "plain");
        work(&cache, "near", near.path(), "plain");
        assert_eq!(planted(&cache, near.path(), "gcc", "plain").as_deref(), Some("near"));
        assert_eq!(planted(&cache, far.path(), "gcc", "plain").as_deref(), Some("far"));
        assert_eq!(planted(&cache, near.path(), "clang", "plain"), None);
    }

    #[test]
    fn the_same_configuration_goes_before_the_nearer_tree() {
        let cache = fake::cache(&[]);
        let (near, far) = (fake::tree("VERSION = 6\nPATCHLEVEL = 12\n"), fake::tree("VERSION = 6\nPATCHLEVEL = 12\n"));
        fake::write(far.path(), "kernel/sched/fair.c", "patched");
        work(&cache, "far", far.path(), "hz-1000");
        work(&cache, "near", near.path(), "plain");
        assert_eq!(planted(&cache, near.path(), "gcc", "hz-1000").as_deref(), Some("far"));
    }
}
