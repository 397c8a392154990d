//! An allocator that counts the bytes it has handed out, and the processor time of the engine.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The server's allocator, counted.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static INNER: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[global_allocator]
static GLOBAL: Counting = Counting;

// All is passed on as it comes.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        unsafe { INNER.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { INNER.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_add(size, Ordering::Relaxed);
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { INNER.realloc(pointer, layout, size) }
    }
}

/// Bytes that are allocated now.
pub fn live() -> usize {
    LIVE.load(Ordering::Relaxed)
}

/// Nanoseconds of processor time that the engine has used: all threads but this one, which stands
/// in for its clients.
pub fn engine_cpu_ns() -> f64 {
    clock(libc::CLOCK_PROCESS_CPUTIME_ID) - clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Nanoseconds of processor time that this thread has used.
pub fn client_cpu_ns() -> f64 {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn clock(id: libc::clockid_t) -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // The pointer is to a local of the right type.
    let result = unsafe { libc::clock_gettime(id, &mut time) };
    assert_eq!(result, 0, "every process has this clock");
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
