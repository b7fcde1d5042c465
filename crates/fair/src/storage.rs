//! Memory that the policy's structs live in: addresses never change, pointers may stay inside.
//!
//! Elements are accessed through raw pointers that are made once, so references to elements do not invalidate the
//! pointers kept inside structs. References are short-lived, and no call into C happens while one is alive.

use std::alloc::{alloc, dealloc, handle_alloc_error, Layout};
use std::ops::{Index, IndexMut};
use std::ptr::NonNull;

use fairground_machine::CpuMask;

use crate::ffi::*;

/// Bytes of a cache line: every array begins at a multiple, as the layout of the policy's structs expects.
const LINE: usize = 64;

/// A fixed array with stable addresses.
pub struct Slab<T> {
    base: NonNull<T>,
    len: usize,
}

/// Where `len` elements lie.
fn layout<T>(len: usize) -> Layout {
    let layout = Layout::array::<T>(len).and_then(|array| array.align_to(LINE));
    layout.unwrap_or_else(|_| panic!("an array of {len} elements fits no memory"))
}

impl<T> Slab<T> {
    /// Takes the elements over.
    pub fn new(items: Vec<T>) -> Self {
        let (len, layout) = (items.len(), layout::<T>(items.len()));
        if layout.size() == 0 {
            return Slab { base: NonNull::dangling(), len };
        }
        // SAFETY: its size is not 0.
        let base = NonNull::new(unsafe { alloc(layout) }.cast::<T>()).unwrap_or_else(|| handle_alloc_error(layout));
        for (index, item) in items.into_iter().enumerate() {
            // SAFETY: within the allocation, which holds `len` elements.
            unsafe { base.as_ptr().add(index).write(item) };
        }
        Slab { base, len }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The address of an element. Panics if there is no such element.
    pub fn ptr(&self, index: usize) -> *mut T {
        assert!(index < self.len, "element {index} of {}", self.len);
        // SAFETY: within the allocation, as just checked.
        unsafe { self.base.as_ptr().add(index) }
    }

    /// Which element `ptr` points at; none for null. Panics if it points elsewhere.
    pub fn index_of(&self, ptr: *const T) -> Option<usize> {
        if ptr.is_null() {
            return None;
        }
        let index = (ptr as usize).wrapping_sub(self.base.as_ptr() as usize) / std::mem::size_of::<T>();
        assert!(std::ptr::eq(self.ptr(index), ptr), "pointer into another arena");
        Some(index)
    }
}

impl<T> Index<usize> for Slab<T> {
    type Output = T;

    fn index(&self, index: usize) -> &T {
        // SAFETY: a live element; shared by the borrow of self.
        unsafe { &*self.ptr(index) }
    }
}

impl<T> IndexMut<usize> for Slab<T> {
    fn index_mut(&mut self, index: usize) -> &mut T {
        // SAFETY: a live element; exclusive by the borrow of self.
        unsafe { &mut *self.ptr(index) }
    }
}

impl<T> Drop for Slab<T> {
    fn drop(&mut self) {
        let layout = layout::<T>(self.len);
        // SAFETY: the elements written in `new`, each dropped once, then the allocation made there.
        unsafe {
            std::ptr::slice_from_raw_parts_mut(self.base.as_ptr(), self.len).drop_in_place();
            if layout.size() > 0 {
                dealloc(self.base.as_ptr().cast(), layout);
            }
        }
    }
}

/// A struct of the policy.
///
/// # Safety
/// Pointers inside the type point into slabs of the same World, which moves to another thread as a whole, and
/// everything else in it may be sent.
pub unsafe trait Struct {}

macro_rules! structs {
    ($($name:ident)*) => {
        // SAFETY: numbers, and pointers that link.rs and the policy aim at slabs of their own World.
        $(unsafe impl Struct for $name {})*
    };
}
structs!(FgSys FgTg FgTgCpu FgCpu FgDomain FgGroup FgSums FgRing FgLlc FgCluster FgRoot FgOpp FgEm FgPd FgSugov FgTask FgProcess FgCacheTime CpuMask u32);

// SAFETY: a slab owns its elements as a Vec would; their pointers are as `Struct` promises.
unsafe impl<T: Struct> Send for Slab<T> {}

/// Chunk size of a [`Pool`], a power of two.
const CHUNK: usize = 64;

/// A growing array with stable addresses.
pub struct Pool<T> {
    chunks: Vec<Slab<T>>,
    make: fn() -> T,
}

impl<T> Pool<T> {
    /// An empty pool whose elements start as `make` says.
    pub fn new(make: fn() -> T) -> Self {
        Pool { chunks: Vec::new(), make }
    }

    /// Makes sure that element `index` exists.
    pub fn grow_to(&mut self, index: usize) {
        while self.chunks.len() <= index / CHUNK {
            self.chunks.push(Slab::new((0..CHUNK).map(|_| (self.make)()).collect()));
        }
    }

    /// The address of an element. Panics if there is no such element.
    pub fn ptr(&self, index: usize) -> *mut T {
        let chunk = &self.chunks[index / CHUNK];
        // SAFETY: `grow_to` makes chunks of CHUNK elements.
        unsafe { chunk.base.as_ptr().add(index % CHUNK) }
    }
}

impl<T> Index<usize> for Pool<T> {
    type Output = T;

    fn index(&self, index: usize) -> &T {
        // SAFETY: a live element; shared by the borrow of self.
        unsafe { &*self.ptr(index) }
    }
}

impl<T> IndexMut<usize> for Pool<T> {
    fn index_mut(&mut self, index: usize) -> &mut T {
        // SAFETY: a live element; exclusive by the borrow of self.
        unsafe { &mut *self.ptr(index) }
    }
}
