//! What can go wrong with an answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;

/// What becomes of one answer. The tables are read when the request comes, so a late answer is an old one.
#[derive(Debug, Clone)]
pub enum Fault {
    /// None: the honest answer. It lets a fault come later in a row.
    Honest,
    /// The answer comes after this time.
    Slow(Duration),
    /// The answer comes when the gate is opened. Other requests on the connection are answered meanwhile.
    Late(Gate),
    /// The request is taken and never answered.
    Silent,
    /// The first so many bytes of the frame come, then the end of the stream.
    Cut(usize),
    /// These bytes come in the place of the frame; the connection stays open.
    RawBytes(Bytes),
    /// A reply with this code and remark, without a body.
    Error {
        /// Response code, such as 1 (system error), 2 (busy), 16 (no permission).
        code: i32,
        /// Text of the reply.
        remark: String,
    },
    /// The answer comes twice.
    Twice,
    /// An answer to a request that nobody made comes first, then the honest one.
    UnknownOpaque,
}

impl Fault {
    /// Raw bytes from anything that holds bytes.
    pub fn raw(bytes: impl Into<Bytes>) -> Self {
        Self::RawBytes(bytes.into())
    }

    /// A refusal.
    pub fn error(code: i32, remark: &str) -> Self {
        Self::Error {
            code,
            remark: remark.to_owned(),
        }
    }
}

/// Holds answers until the test opens it. Clones are the same gate.
#[derive(Debug, Clone)]
pub struct Gate {
    state: Arc<watch::Sender<GateState>>,
}

#[derive(Debug, Default)]
struct GateState {
    reached: usize,
    open: bool,
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self {
            state: Arc::new(watch::Sender::new(GateState::default())),
        }
    }

    /// Lets go what it holds and whatever comes later.
    pub fn open(&self) {
        self.state.send_modify(|state| state.open = true);
    }

    /// Waits until so many answers have reached it since it was made.
    pub async fn holding(&self, answers: usize) {
        self.until(|state| state.reached >= answers).await;
    }

    pub(crate) async fn pass(&self) {
        self.state.send_modify(|state| state.reached += 1);
        self.until(|state| state.open).await;
    }

    async fn until(&self, reached: impl FnMut(&GateState) -> bool) {
        // Fails only without a sender, and self is one.
        let _ = self.state.subscribe().wait_for(reached).await;
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}
