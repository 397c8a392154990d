//! How much memory is allocated: an allocator that counts.
//!
//! Each thread counts for itself and tells the others now and then, so that counting costs a
//! nanosecond. What nobody has told yet is less than [`UNTOLD_MAX`] for each thread. What a thread
//! has allocated and not freed ([`own`]), before and after it made something, is how much that
//! takes, wherever its parts are.
//!
//! Threads that did not say that they are ours ([`claim_thread`]) were started by a library; what
//! they allocate and free is counted apart as well.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};

/// So many bytes a thread keeps for itself.
const UNTOLD_MAX: i64 = 16 << 10;

static LIVE: AtomicI64 = AtomicI64::new(0);
/// Of that, what threads that are not ours have allocated, less what they have freed.
static FOREIGN: AtomicI64 = AtomicI64::new(0);

thread_local! {
    // Neither is dropped, so that the allocator can use them to a thread's very end.
    static OWN: Cell<i64> = const { Cell::new(0) };
    static UNTOLD: Cell<i64> = const { Cell::new(0) };
    static IS_OURS: Cell<bool> = const { Cell::new(false) };
}

/// An allocator, counted.
pub struct Counted<A>(pub A);

#[inline]
fn count(bytes: i64) {
    OWN.set(OWN.get() + bytes);
    let untold = UNTOLD.get() + bytes;
    if untold.abs() < UNTOLD_MAX {
        UNTOLD.set(untold);
    } else {
        tell(untold);
    }
}

#[cold]
fn tell(untold: i64) {
    UNTOLD.set(0);
    LIVE.fetch_add(untold, Ordering::Relaxed);
    if !IS_OURS.get() {
        FOREIGN.fetch_add(untold, Ordering::Relaxed);
    }
}

/// Says that this thread is one of ours.
pub fn claim_thread() {
    IS_OURS.set(true);
}

/// Bytes that threads of libraries have allocated, less those that they have freed.
pub fn foreign() -> i64 {
    FOREIGN.load(Ordering::Relaxed)
}

// SAFETY: all is passed on as it comes; counting neither allocates nor panics.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counted<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        unsafe { self.0.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        unsafe { self.0.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        unsafe { self.0.dealloc(pointer, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as i64 - layout.size() as i64);
        unsafe { self.0.realloc(pointer, layout, size) }
    }
}

/// Bytes that are allocated in the process; none where nobody counts.
pub fn live() -> Option<u64> {
    u64::try_from(LIVE.load(Ordering::Relaxed)).ok().filter(|live| *live > 0)
}

/// Bytes that this thread has allocated, less those that it has freed.
pub fn own() -> i64 {
    OWN.get()
}

/// Does something, and says how many bytes more are allocated after it.
pub fn measured<T>(act: impl FnOnce() -> T) -> (T, i64) {
    let before = own();
    let done = act();
    (done, own() - before)
}
