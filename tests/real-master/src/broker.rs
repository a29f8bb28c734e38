//! A real broker.

use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use locum_remoting::{Command, code};
use serde_json::Value;

use crate::accounts::{self, Guard};
use crate::connection::{self, Connection};
use crate::home::Home;
use crate::ports::free_port;
use crate::process::{Java, Launch};
use crate::{Error, NameServer, Version, json};

/// The broker's name in every answer.
pub(crate) const BROKER_NAME: &str = "broker-a";

/// Small files, quick writes of the offset tables, a second delay level that a test can wait for, and no check of
/// transactions, which on 4.9 makes a topic a minute after the start, while a test compares tables.
const SETTINGS: &str = "\
brokerClusterName=C1
brokerId=0
brokerRole=ASYNC_MASTER
brokerIP1=127.0.0.1
mappedFileSizeCommitLog=4194304
mappedFileSizeConsumeQueue=60000
maxHashSlotNum=1000
maxIndexNum=4000
autoCreateTopicEnable=true
flushConsumerOffsetInterval=1000
flushDelayOffsetInterval=1000
messageDelayLevel=1s 2s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h
diskMaxUsedSpaceRatio=95
deleteWhen=04
transactionCheckInterval=3600000
";

/// Without the timer, 5.3.3 answers code 1 to the deletion of a topic (it did delete it); so the timer is on, small.
const SETTINGS_OF_FIVE: &str = "\
mappedFileSizeTimerLog=1048576
timerWheelEnable=true
";

/// What a broker is started with.
#[derive(Debug, Clone)]
pub struct BrokerBuilder {
    version: Version,
    name_server: Option<SocketAddr>,
    store: Option<PathBuf>,
    config: String,
    jvm_options: Vec<String>,
    user: Option<u32>,
    guard: Option<Guard>,
}

impl BrokerBuilder {
    /// Register there. Without one the broker stands alone.
    #[must_use]
    pub fn name_server(mut self, name_server: &NameServer) -> Self {
        self.name_server = Some(name_server.address());
        self
    }

    /// The store directory, parent of `config`; created if it is missing, kept when the broker is dropped. Without it
    /// the store is in the broker's temporary directory.
    #[must_use]
    pub fn store(mut self, store: impl Into<PathBuf>) -> Self {
        self.store = Some(store.into());
        self
    }

    /// One more line of `broker.conf`; a later line wins over an earlier one of the same name.
    #[must_use]
    pub fn config_line(mut self, line: &str) -> Self {
        self.config.push_str(line);
        self.config.push('\n');
        self
    }

    /// One more option for Java, such as `-Drocketmq.serialize.type=ROCKETMQ`.
    #[must_use]
    pub fn jvm_option(mut self, option: &str) -> Self {
        self.jvm_options.push(option.to_owned());
        self
    }

    /// Run as this user and the group of the same number, which only root can do. The store directory and its `config`
    /// are given to that user; the files in them are left as they are, since how those look to him is what is tested.
    #[must_use]
    pub fn uid(mut self, user: u32) -> Self {
        self.user = Some(user);
        self
    }

    /// Answers signed requests only: with `aclEnable` before 5.3, with authentication and authorization from then on. What
    /// [`Broker`] asks itself is signed by [`accounts::ADMIN`].
    #[must_use]
    pub fn guarded(mut self) -> Self {
        self.guard = Some(Guard::of(self.version));
        self
    }

    /// Starts it on fresh ports and waits until it answers 21.
    ///
    /// # Errors
    ///
    /// When the artifacts cannot be had, or the broker ends or stays silent; with the end of its output.
    pub fn start(self) -> Result<Broker, Error> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let home = Home::new(self.user)?;
        let own_store = home.path().join("store");
        let store = self.store.clone().unwrap_or(own_store);
        home.folder_at(&store)?;
        home.folder_at(&store.join("config"))?;
        let java = self.launch(address, &home, &store)?;
        Ok(Broker {
            builder: self,
            java,
            address,
            store,
            home,
        })
    }

    fn launch(&self, address: SocketAddr, home: &Home, store: &Path) -> Result<Java, Error> {
        let config = home.file("broker.conf", &self.config_file(address, store))?;
        if let Some(guard) = &self.guard {
            guard.write_accounts(home)?;
        }
        let mut java = Java::start(
            &Launch {
                what: "broker",
                version: self.version,
                main_class: "org.apache.rocketmq.broker.BrokerStartup",
                config: &config,
                jvm_options: &self.jvm_options,
                user: self.user,
            },
            home,
        )?;
        // Not 28: just after the start it can fail with a NoSuchElementException.
        let request = self.signed(&Command::request(code::GET_ALL_TOPIC_CONFIG));
        java.await_ready(|| connection::succeed(address, &request).is_ok())?;
        Ok(java)
    }

    fn config_file(&self, address: SocketAddr, store: &Path) -> String {
        let mut text = String::from(SETTINGS);
        if self.version.is_five() {
            text.push_str(SETTINGS_OF_FIVE);
        }
        let store = store.display();
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "brokerName={BROKER_NAME}\nlistenPort={}\n\
             storePathRootDir={store}\nstorePathCommitLog={store}/commitlog\n",
            address.port(),
        );
        if let Some(name_server) = self.name_server {
            let _ = writeln!(text, "namesrvAddr={name_server}");
        }
        if let Some(guard) = &self.guard {
            text.push_str(&guard.settings());
        }
        text + &self.config
    }

    /// As the broker wants it.
    fn signed(&self, request: &Command) -> Command {
        match &self.guard {
            Some(_) => accounts::ADMIN.credentials().sign(request.clone()),
            None => request.clone(),
        }
    }
}

/// A running master, `broker-a` of cluster `C1`; dropped means killed.
#[derive(Debug)]
pub struct Broker {
    builder: BrokerBuilder,
    java: Java,
    address: SocketAddr,
    store: PathBuf,
    home: Home,
}

impl Broker {
    /// A broker of this version with a store of its own.
    #[must_use]
    pub fn builder(version: Version) -> BrokerBuilder {
        BrokerBuilder {
            version,
            name_server: None,
            store: None,
            config: String::new(),
            jvm_options: Vec::new(),
            user: None,
            guard: None,
        }
    }

    /// Its version.
    #[must_use]
    pub fn version(&self) -> Version {
        self.builder.version
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its process, as its lock on the store names it.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.java.pid()
    }

    /// The store directory (`storePathRootDir`).
    #[must_use]
    pub fn store(&self) -> &Path {
        &self.store
    }

    /// Where its tables are: `config` in the store.
    #[must_use]
    pub fn config_dir(&self) -> PathBuf {
        self.store.join("config")
    }

    /// The body of the reply to a request without fields, as JSON with quoted keys.
    ///
    /// # Errors
    ///
    /// When there is no reply, one with another code than 0, or one that is not JSON.
    pub fn ask(&self, code: i32) -> Result<Value, Error> {
        let reply = self.succeed(&Command::request(code))?;
        json::parse(&reply.body)
    }

    /// One request on its own connection.
    ///
    /// # Errors
    ///
    /// When there is no reply. A reply with an error code is a reply.
    pub fn request(&self, request: &Command) -> Result<Command, Error> {
        Connection::open(self.address)?.request(&self.builder.signed(request))
    }

    /// The reply to one request on its own connection, if its code is 0.
    pub(crate) fn succeed(&self, request: &Command) -> Result<Command, Error> {
        connection::succeed(self.address, &self.builder.signed(request))
    }

    /// Lets it shut down by itself, as an operator does (SIGTERM): it writes its tables and gives the store free. Takes
    /// about 7 seconds on 4.9 and 15 on 5.x, which wait for their threads one by one.
    ///
    /// # Errors
    ///
    /// When it has to be killed in the end.
    pub fn stop(&mut self) -> Result<(), Error> {
        self.java.terminate()
    }

    /// Ends it at once, as a power cut does (SIGKILL): nothing more is written.
    pub fn kill(&mut self) {
        self.java.kill();
    }

    /// Starts it again after [`stop`](Self::stop) or [`kill`](Self::kill), on the same store and address; one that still
    /// runs is killed first.
    ///
    /// # Errors
    ///
    /// As [`BrokerBuilder::start`].
    pub fn start_again(&mut self) -> Result<(), Error> {
        self.java.kill();
        self.java = self.builder.launch(self.address, &self.home, &self.store)?;
        Ok(())
    }
}
