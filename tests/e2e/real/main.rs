//! The host against real brokers: the judge is a broker that booted from our files.
