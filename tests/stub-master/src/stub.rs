//! A running stub.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use locum_remoting::HeaderForm;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::acl::Acl;
use crate::dialect::Dialect;
use crate::fault::Fault;
use crate::recorder::Recorder;
use crate::script::{Script, Times};
use crate::server::{Master, serve};
use crate::state::State;
use crate::tables::Tables;

/// Connections that may wait to be taken.
const BACKLOG: u32 = 1024;

/// A master and name server on one loopback port. Dropping it ends it.
#[derive(Debug)]
pub struct Stub {
    address: SocketAddr,
    master: Arc<Master>,
    listening: tokio::sync::Mutex<Listening>,
}

#[derive(Debug)]
enum Listening {
    Serving {
        stop: oneshot::Sender<()>,
        task: JoinHandle<()>,
    },
    /// The port is bound but not listened on: connections are refused, and nobody else can take it.
    Paused(TcpSocket),
    /// Between the two, and after a failure.
    Down,
}

impl Stub {
    /// Starts a fresh master of this dialect on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn start(dialect: Dialect) -> io::Result<Self> {
        Self::start_on(dialect, (Ipv4Addr::LOCALHOST, 0).into()).await
    }

    /// Starts a fresh master of this dialect on this address; port 0 takes a free one.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub async fn start_on(dialect: Dialect, address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let master = Arc::new(Master {
            dialect,
            tables: Tables::new(State::fresh(dialect, address.to_string())),
            script: Script::default(),
            recorder: Recorder::new(),
            acl: Acl::default(),
            form: Mutex::new(HeaderForm::Json),
        });
        let serving = serving(listener, &master);
        Ok(Self {
            address,
            master,
            listening: tokio::sync::Mutex::new(serving),
        })
    }

    /// Where it listens, `ip:port`, as a config names a master or a name server.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// The dialect that it speaks.
    pub fn dialect(&self) -> Dialect {
        self.master.dialect
    }

    /// Its tables, to be changed while it runs.
    pub fn tables(&self) -> Tables {
        self.master.tables.clone()
    }

    /// What it was asked.
    pub fn recorder(&self) -> &Recorder {
        &self.master.recorder
    }

    /// Puts a fault at the end of the row of this request code.
    pub fn script(&self, code: i32, fault: Fault, times: Times) {
        self.master.script.add(code, fault, times);
    }

    /// Drops all scripted faults.
    pub fn clear_script(&self) {
        self.master.script.clear();
    }

    /// The header form of a server's own choice, JSON at first: `-Drocketmq.serialize.type=ROCKETMQ` is `Binary`.
    pub fn reply_in(&self, form: HeaderForm) {
        *self
            .master
            .form
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = form;
    }

    /// From now on answers only who signs as one of these, access key and secret key, whatever is asked: all others are refused as
    /// 4.9 does with `aclEnable`, and 5.x with its own authentication. Faults come all the same.
    pub fn demand_signatures<'a>(&self, accounts: impl IntoIterator<Item = (&'a str, &'a str)>) {
        let owned = |(access_key, secret_key): (&str, &str)| (access_key.into(), secret_key.into());
        self.master
            .acl
            .set(Some(accounts.into_iter().map(owned).collect()));
    }

    /// Answers everybody again.
    pub fn demand_nothing(&self) {
        self.master.acl.set(None);
    }

    /// Stops the master: its connections end and its port refuses, until [`Stub::resume`]. Tables and script stay.
    ///
    /// # Errors
    /// When the port cannot be kept for later.
    pub async fn pause(&self) -> io::Result<()> {
        let mut listening = self.listening.lock().await;
        match std::mem::replace(&mut *listening, Listening::Down) {
            Listening::Serving { stop, task } => {
                drop(stop);
                // Fails only if the task panicked, and then it has ended too.
                let _ = task.await;
                *listening = Listening::Paused(self.bound()?);
            }
            paused => *listening = paused,
        }
        Ok(())
    }

    /// Listens again, on the same port.
    ///
    /// # Errors
    /// When the port is gone.
    pub async fn resume(&self) -> io::Result<()> {
        let mut listening = self.listening.lock().await;
        let socket = match std::mem::replace(&mut *listening, Listening::Down) {
            Listening::Paused(socket) => socket,
            Listening::Down => self.bound()?,
            serving @ Listening::Serving { .. } => {
                *listening = serving;
                return Ok(());
            }
        };
        *listening = serving(socket.listen(BACKLOG)?, &self.master);
        Ok(())
    }

    fn bound(&self) -> io::Result<TcpSocket> {
        let socket = if self.address.is_ipv4() {
            TcpSocket::new_v4()?
        } else {
            TcpSocket::new_v6()?
        };
        // Connections of before may still linger on the port.
        socket.set_reuseaddr(true)?;
        socket.bind(self.address)?;
        Ok(socket)
    }
}

fn serving(listener: TcpListener, master: &Arc<Master>) -> Listening {
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(serve(listener, Arc::clone(master), stopped));
    Listening::Serving { stop, task }
}
