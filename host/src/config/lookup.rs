//! How a replica's master is found: by its address, or by name servers.

use std::collections::BTreeMap;

/// The variable that RocketMQ's own tools take name servers from.
pub(super) const NAMESRV_ADDR: &str = "NAMESRV_ADDR";

/// `name-servers`, `cluster` and `broker` of a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupConfig {
    /// `host:port` of each name server; one at least.
    pub name_servers: Vec<String>,
    /// The cluster's name.
    pub cluster: String,
    /// The broker's name; its id 0 is the master.
    pub broker: String,
}

/// What is written of it.
pub(super) struct Written {
    pub(super) master: Option<String>,
    pub(super) name_servers: Option<String>,
    pub(super) cluster: Option<String>,
    pub(super) broker: Option<String>,
    pub(super) address_map: BTreeMap<String, String>,
}

/// What comes of it.
pub(super) struct Way {
    pub(super) master: Option<String>,
    pub(super) lookup: Option<LookupConfig>,
    pub(super) address_map: BTreeMap<String, String>,
}

impl Written {
    /// `environment` has name servers where the file names neither them nor a master.
    pub(super) fn resolve(self, environment: Option<&str>) -> Result<Way, String> {
        let Self {
            master,
            name_servers,
            cluster,
            broker,
            address_map,
        } = self;
        if let Some(master) = master {
            let names = [
                ("name-servers", name_servers.is_some()),
                ("cluster", cluster.is_some()),
                ("broker", broker.is_some()),
                ("address-map", !address_map.is_empty()),
            ];
            if let Some((key, _)) = names.iter().find(|(_, is_there)| *is_there) {
                return Err(format!(
                    "`{key}` is for a master that name servers find, and `master` names it: leave one of the two out"
                ));
            }
            return Ok(Way {
                master: Some(checked_address("master", master)?),
                lookup: None,
                address_map,
            });
        }
        let name_servers = match (name_servers, environment) {
            (Some(list), _) => addresses("name-servers", &list)?,
            (None, Some(list)) => addresses(NAMESRV_ADDR, list)?,
            (None, None) => return Err(nothing_named()),
        };
        let named = |key: &str, name: Option<String>| {
            name.filter(|name| !name.is_empty()).ok_or_else(|| {
                format!("`{key}` is missing: name servers find a master by `cluster` and `broker`, or write `master = \"host:port\"`")
            })
        };
        Ok(Way {
            master: None,
            lookup: Some(LookupConfig {
                name_servers,
                cluster: named("cluster", cluster)?,
                broker: named("broker", broker)?,
            }),
            address_map: checked_map(address_map)?,
        })
    }
}

fn nothing_named() -> String {
    format!(
        "no master is named: write `master = \"host:port\"`, or `name-servers = \"host:port;host:port\"` with `cluster` and \
         `broker` ({NAMESRV_ADDR} is not set)"
    )
}

/// As RocketMQ writes them: `a:9876;b:9876`.
fn addresses(key: &str, list: &str) -> Result<Vec<String>, String> {
    let mut addresses: Vec<String> = Vec::new();
    for address in list.split(';').map(str::trim).filter(|one| !one.is_empty()) {
        let address = checked_address(key, address.to_owned())?;
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() {
        return Err(format!(
            "`{key}` is empty: write \"host:port\", or several with `;` between them"
        ));
    }
    Ok(addresses)
}

/// What is advertised may be anything; what we connect to may not.
fn checked_map(map: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, String> {
    map.into_iter()
        .map(|(advertised, address)| Ok((advertised, checked_address("address-map", address)?)))
        .collect()
}

pub(super) fn checked_address(key: &str, address: String) -> Result<String, String> {
    if is_address(&address) {
        return Ok(address);
    }
    Err(format!(
        "`{key} = \"{address}\"`: write \"host:port\", with a port from 1 to 65535"
    ))
}

/// Whether that is a `host:port` with a port from 1 to 65535.
pub(crate) fn is_address(address: &str) -> bool {
    let port = address
        .rsplit_once(':')
        .filter(|(host, _)| !host.is_empty())
        .and_then(|(_, port)| port.parse().ok());
    matches!(port, Some(1..=u16::MAX))
}
