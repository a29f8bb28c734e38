//! A real name server.

use std::net::{Ipv4Addr, SocketAddr};

use locum_remoting::{Command, code};
use serde_json::Value;

use crate::connection::{self, Connection};
use crate::home::Home;
use crate::ports::free_port;
use crate::process::{Java, Launch};
use crate::{Error, Version};

/// A running name server; dropped means killed.
#[derive(Debug)]
pub struct NameServer {
    java: Java,
    address: SocketAddr,
    _home: Home,
}

impl NameServer {
    /// Starts one and waits until it answers.
    ///
    /// # Errors
    ///
    /// When the artifacts cannot be had, or it ends or stays silent.
    pub fn start(version: Version) -> Result<Self, Error> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let home = Home::new(None)?;
        let config = home.file("namesrv.conf", &format!("listenPort={}\n", address.port()))?;
        let mut java = Java::start(
            &Launch {
                what: "name server",
                version,
                main_class: "org.apache.rocketmq.namesrv.NamesrvStartup",
                config: &config,
                jvm_options: &[],
                user: None,
            },
            &home,
        )?;
        java.await_ready(|| connection::ask(address, code::GET_BROKER_CLUSTER_INFO).is_ok())?;
        Ok(Self {
            java,
            address,
            _home: home,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The body of the reply to a request without fields, as JSON.
    ///
    /// # Errors
    ///
    /// When there is no reply, or one with another code than 0.
    pub fn ask(&self, code: i32) -> Result<Value, Error> {
        connection::ask(self.address, code)
    }

    /// One request on its own connection.
    ///
    /// # Errors
    ///
    /// When there is no reply. A reply with an error code is a reply.
    pub fn request(&self, request: &Command) -> Result<Command, Error> {
        Connection::open(self.address)?.request(request)
    }

    /// Shuts it down.
    ///
    /// # Errors
    ///
    /// When it has to be killed.
    pub fn stop(&mut self) -> Result<(), Error> {
        self.java.terminate()
    }
}
