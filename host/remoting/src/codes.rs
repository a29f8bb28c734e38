//! Request and response codes, by the names that RocketMQ gives them.

/// Declares code constants and a function that gives their names back.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $value:literal;)*) => {
        $($(#[$doc])* pub const $name: i32 = $value;)*

        /// RocketMQ's name of a code, if it is one of those listed here.
        #[must_use]
        pub fn name(code: i32) -> Option<&'static str> {
            match code {
                $($value => Some(stringify!($name)),)*
                _ => None,
            }
        }
    };
}

/// Request codes (`RequestCode.java`): the tables that are copied, and what tests need to seed a broker.
pub mod code {
    codes! {
        /// Send one message; its `DELAY` property is the only way to get delay offsets.
        SEND_MESSAGE = 10;
        /// Pull messages; on 5.5.0 this fills `pullOffsetTable` in the reply to 43.
        PULL_MESSAGE = 11;
        /// Commit one queue's offset.
        UPDATE_CONSUMER_OFFSET = 15;
        /// Create or change a topic.
        UPDATE_AND_CREATE_TOPIC = 17;
        /// Create or change several topics (5.3.0 and later).
        UPDATE_AND_CREATE_TOPIC_LIST = 18;
        /// The topic table.
        GET_ALL_TOPIC_CONFIG = 21;
        /// A broker's configuration as properties text. It can hold passwords: never log it.
        GET_BROKER_CONFIG = 26;
        /// A broker's runtime figures: who is there, and which version.
        GET_BROKER_RUNTIME_INFO = 28;
        /// The consumer offset table.
        GET_ALL_CONSUMER_OFFSET = 43;
        /// The delay offset table.
        GET_ALL_DELAY_OFFSET = 45;
        /// The timer checkpoint (5.0.0 and later).
        GET_TIMER_CHECK_POINT = 60;
        /// The timer metrics (5.0.0 and later).
        GET_TIMER_METRICS = 61;
        /// A broker announces itself to a name server. A stand-in never sends it.
        REGISTER_BROKER = 103;
        /// Where a topic's queues are (name server).
        GET_ROUTEINFO_BY_TOPIC = 105;
        /// Clusters and their brokers (name server).
        GET_BROKER_CLUSTER_INFO = 106;
        /// Create or change a subscription group.
        UPDATE_AND_CREATE_SUBSCRIPTIONGROUP = 200;
        /// The subscription group table.
        GET_ALL_SUBSCRIPTIONGROUP_CONFIG = 201;
        /// Delete a subscription group.
        DELETE_SUBSCRIPTIONGROUP = 207;
        /// Delete a topic on a broker.
        DELETE_TOPIC_IN_BROKER = 215;
        /// Forbid or allow a group to read a topic (5.x); fills `forbiddenTable`.
        UPDATE_AND_GET_GROUP_FORBIDDEN = 353;
        /// Set PULL or POP for a topic and group (5.x).
        SET_MESSAGE_REQUEST_MODE = 401;
        /// The message request modes (5.0.0 and later; 4.9 answers code 3).
        GET_ALL_MESSAGE_REQUEST_MODE = 402;
        /// Create or change a static topic (5.x); fills the queue mapping.
        UPDATE_AND_CREATE_STATIC_TOPIC = 513;
    }
}

/// Response codes (`ResponseCode.java`, `RemotingSysResponseCode.java`).
pub mod response {
    codes! {
        /// The request was carried out.
        SUCCESS = 0;
        /// Any failure; the remark is an exception or a text.
        SYSTEM_ERROR = 1;
        /// The broker's queue is full; the next tick tries again.
        SYSTEM_BUSY = 2;
        /// This version does not know the request.
        REQUEST_CODE_NOT_SUPPORTED = 3;
        /// A transaction failed.
        TRANSACTION_FAILED = 4;
        /// The broker shuts down or its store does not take writes.
        SERVICE_NOT_AVAILABLE = 14;
        /// The broker is of a version that cannot do this.
        VERSION_NOT_SUPPORTED = 15;
        /// Not signed, or signed by somebody who may not.
        NO_PERMISSION = 16;
        /// No such topic.
        TOPIC_NOT_EXIST = 17;
        /// No such subscription group.
        SUBSCRIPTION_GROUP_NOT_EXIST = 26;
        /// A field is missing or wrong (5.3.2 and later).
        INVALID_PARAMETER = 29;
        /// Too many requests.
        FLOW_CONTROL = 215;
        /// Close this connection and ask again on a new one (5.2.0 and later).
        GO_AWAY = 1500;
    }
}
