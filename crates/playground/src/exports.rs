//! The functions of the WebAssembly module.
//!
//! A question is written into the buffer that [`fairground_question`] makes; [`fairground_ask`] answers it and returns the
//! length of the answer, which begins at [`fairground_answer`] and stays until the next question. Both are UTF-8. A panic ends
//! the module; its message is then at [`fairground_panic`], [`fairground_panic_length`] bytes long.

use std::cell::RefCell;
use std::sync::{Mutex, Once, PoisonError};

use crate::requests::Playground;

#[derive(Default)]
struct Module {
    playground: Playground,
    question: Vec<u8>,
    answer: String,
}

thread_local! {
    static MODULE: RefCell<Module> = RefCell::default();
}

static PANIC: Mutex<String> = Mutex::new(String::new());

/// A buffer for a question of `length` bytes.
#[no_mangle]
pub extern "C" fn fairground_question(length: usize) -> *mut u8 {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|info| *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string()));
    });
    MODULE.with_borrow_mut(|module| {
        module.question = vec![0; length];
        module.question.as_mut_ptr()
    })
}

/// Answers the question in the buffer; returns the length of the answer in bytes.
#[no_mangle]
pub extern "C" fn fairground_ask() -> usize {
    MODULE.with_borrow_mut(|module| {
        let question = std::mem::take(&mut module.question);
        module.answer = module.playground.answer(&String::from_utf8_lossy(&question));
        module.answer.len()
    })
}

/// The first byte of the answer.
#[no_mangle]
pub extern "C" fn fairground_answer() -> *const u8 {
    MODULE.with_borrow(|module| module.answer.as_ptr())
}

/// The first byte of what the last question for a view made; its length is in the answer.
#[no_mangle]
pub extern "C" fn fairground_bytes() -> *const u8 {
    MODULE.with_borrow(|module| module.playground.bytes.as_ptr())
}

/// The first byte of the message of a panic.
#[no_mangle]
pub extern "C" fn fairground_panic() -> *const u8 {
    PANIC.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
}

/// The length of the message of a panic; 0 if there was none.
#[no_mangle]
pub extern "C" fn fairground_panic_length() -> usize {
    PANIC.lock().unwrap_or_else(PoisonError::into_inner).len()
}
