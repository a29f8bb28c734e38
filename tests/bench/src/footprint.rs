//! What this process takes of the machine.

use std::{fs, io};

/// What grows if something is left behind at each swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footprint {
    /// Resident memory, in bytes.
    pub resident: u64,
    /// Open file descriptors.
    pub files: u64,
    /// Memory maps.
    pub maps: u64,
}

impl Footprint {
    /// What it is now.
    ///
    /// # Errors
    /// If the system does not say so in `/proc/self`.
    pub fn now() -> io::Result<Self> {
        let maps = fs::read("/proc/self/maps")?;
        Ok(Self {
            resident: resident(&fs::read_to_string("/proc/self/status")?)?,
            files: fs::read_dir("/proc/self/fd")?.count() as u64,
            maps: maps.iter().filter(|&&byte| byte == b'\n').count() as u64,
        })
    }

    /// Whether none of the three is more than a tenth over, or under, what it was.
    #[must_use]
    pub fn is_near(&self, before: &Self) -> bool {
        let near = |now: u64, before: u64| now.abs_diff(before) * 10 <= before;
        near(self.resident, before.resident)
            && near(self.files, before.files)
            && near(self.maps, before.maps)
    }
}

/// The line `VmRSS:     1234 kB`, in bytes.
fn resident(status: &str) -> io::Result<u64> {
    let value = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.strip_suffix("kB"));
    let kib: Option<u64> = value.and_then(|value| value.trim().parse().ok());
    kib.map(|kib| kib * 1024)
        .ok_or_else(|| io::Error::other("/proc/self/status has no VmRSS"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_more_or_less_is_near() {
        let before = Footprint {
            resident: 1000,
            files: 20,
            maps: 100,
        };
        let now = |resident, files| Footprint {
            resident,
            files,
            maps: 100,
        };
        assert!(now(1100, 22).is_near(&before));
        assert!(now(900, 18).is_near(&before));
        assert!(!now(1101, 20).is_near(&before));
        assert!(!now(1000, 23).is_near(&before));
    }

    #[test]
    fn resident_memory_is_read_in_kib() {
        assert_eq!(
            resident("VmHWM:\t  9 kB\nVmRSS:\t  12 kB\n").unwrap(),
            12 * 1024
        );
        assert!(resident("VmRSS: many kB").is_err());
    }
}
