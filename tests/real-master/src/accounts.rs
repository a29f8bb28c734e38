//! Brokers that want to know who asks.

use locum_remoting::{Command, Credentials, Secret};
use serde_json::json;

use crate::home::Home;
use crate::{Broker, Error, Version};

/// `AUTH_CREATE_USER` (5.3 and later).
const CREATE_USER: i32 = 3001;

/// Somebody whom a guarded broker knows.
#[derive(Debug, Clone, Copy)]
pub struct Account {
    /// Access key, which 5.x calls user name.
    pub access_key: &'static str,
    /// Secret key, which 5.x calls password.
    pub secret_key: &'static str,
}

/// May do everything.
pub const ADMIN: Account = Account {
    access_key: "admin-of-tests",
    secret_key: "secret-of-the-admin",
};

/// May do nothing that needs a permission. From 5.3 on it has to be created first ([`Broker::create_reader`]).
pub const READER: Account = Account {
    access_key: "locum-reader",
    secret_key: "secret-of-the-reader",
};

impl Account {
    /// What it signs with.
    #[must_use]
    pub fn credentials(&self) -> Credentials {
        Credentials::new(self.access_key, Secret::new(self.secret_key))
    }
}

/// Of which kind a broker's access control is.
#[derive(Debug, Clone)]
pub(crate) enum Guard {
    /// Accounts in a file.
    Accounts,
    /// Users in a data base of the broker's, 5.3 and later.
    Users,
}

impl Guard {
    pub(crate) fn of(version: Version) -> Self {
        if version >= Version::V5_3_3 {
            Self::Users
        } else {
            Self::Accounts
        }
    }

    /// Lines of `broker.conf`.
    pub(crate) fn settings(&self) -> String {
        if matches!(self, Self::Accounts) {
            return "aclEnable=true\n".to_owned();
        }
        let Account {
            access_key,
            secret_key,
        } = ADMIN;
        let first = json!({"username": access_key, "password": secret_key});
        let own = json!({"accessKey": access_key, "secretKey": secret_key});
        let provider = |package: &str, class: &str| {
            format!("org.apache.rocketmq.auth.{package}.provider.{class}Provider")
        };
        let authentication = provider("authentication", "DefaultAuthentication");
        let users = provider("authentication", "LocalAuthenticationMetadata");
        let authorization = provider("authorization", "DefaultAuthorization");
        let permissions = provider("authorization", "LocalAuthorizationMetadata");
        format!(
            "authenticationEnabled=true\n\
             authenticationProvider={authentication}\n\
             authenticationMetadataProvider={users}\n\
             initAuthenticationUser={first}\n\
             innerClientAuthenticationCredentials={own}\n\
             authorizationEnabled=true\n\
             authorizationProvider={authorization}\n\
             authorizationMetadataProvider={permissions}\n"
        )
    }

    /// The file that accounts are read from.
    pub(crate) fn write_accounts(&self, home: &Home) -> Result<(), Error> {
        if matches!(self, Self::Users) {
            return Ok(());
        }
        let account = |account: Account, admin: bool| {
            let Account {
                access_key,
                secret_key,
            } = account;
            format!(
                "- accessKey: {access_key}\n\
                 \x20 secretKey: {secret_key}\n\
                 \x20 whiteRemoteAddress:\n\
                 \x20 admin: {admin}\n\
                 \x20 defaultTopicPerm: DENY\n\
                 \x20 defaultGroupPerm: DENY\n"
            )
        };
        let accounts = account(ADMIN, true) + &account(READER, false);
        let text = format!("globalWhiteRemoteAddresses: []\naccounts:\n{accounts}");
        home.file("conf/plain_acl.yml", &text).map(drop)
    }
}

impl Broker {
    /// Lets a guarded broker know the [`READER`]: a normal user without any policy. One before 5.3 knows it from the start.
    ///
    /// # Errors
    ///
    /// When the broker refuses.
    pub fn create_reader(&self) -> Result<(), Error> {
        if matches!(Guard::of(self.version()), Guard::Accounts) {
            return Ok(());
        }
        let user = json!({
            "username": READER.access_key, "password": READER.secret_key, "userType": "Normal",
            "userStatus": "enable",
        });
        let request = Command::request(CREATE_USER)
            .with_ext("username", READER.access_key)
            .with_body(user.to_string());
        self.succeed(&request).map(drop)
    }
}
