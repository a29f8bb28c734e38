//! RocketMQ's jars, fetched once by Maven.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::{Error, Version, available};

/// The folder of everything fetched, instead of `maven` in the cargo target folder.
const FOLDER: &str = "LOCUM_MAVEN_DIR";
/// How often Maven is called before a fetch has failed.
const TRIES: u32 = 3;
/// Before the second try; twice that before the third.
const PAUSE: Duration = Duration::from_secs(3);

/// The jars of one version, name server and broker, in Maven's order.
#[derive(Debug, Clone)]
pub struct Classpath {
    jars: Vec<PathBuf>,
}

impl Classpath {
    /// The jars of this version, fetched if they are not there. Tests and processes that ask at the same time wait
    /// for the one that fetches.
    ///
    /// # Errors
    ///
    /// Without Java or Maven, when the folder cannot be written, and when Maven fails three times.
    pub fn of(version: Version) -> Result<Self, Error> {
        available()?;
        let root = folder();
        let own = root.join(version.name());
        fs::create_dir_all(&own).map_err(Error::io("create", &own))?;
        let _lock = lock(&root.join("lock"))?;
        let list = own.join("classpath");
        if let Some(there) = Self::read(&list) {
            return Ok(there);
        }
        fetch(version, &own, &root.join("repository"), &list)?;
        Self::read(&list).ok_or_else(|| Error::malformed("maven's list of jars"))
    }

    /// Where the jars are.
    #[must_use]
    pub fn jars(&self) -> &[PathBuf] {
        &self.jars
    }

    /// The same jars as links (or copies) in another folder, which a user who cannot enter the target folder may read.
    pub(crate) fn linked_into(&self, folder: &Path) -> Result<Self, Error> {
        fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        let link = |(number, jar): (usize, &PathBuf)| {
            let link = folder.join(format!("{number}.jar"));
            if fs::hard_link(jar, &link).is_err() {
                fs::copy(jar, &link).map_err(Error::io("copy", jar))?;
            }
            Ok(link)
        };
        let jars = self.jars.iter().enumerate().map(link);
        Ok(Self {
            jars: jars.collect::<Result<_, Error>>()?,
        })
    }

    /// As Java's `-cp` wants it.
    pub(crate) fn argument(&self) -> OsString {
        // No jar name of Maven's holds a colon; a target folder with one would have failed in Maven already.
        env::join_paths(&self.jars).unwrap_or_default()
    }

    /// The list, unless it is missing or names a jar that is gone.
    fn read(list: &Path) -> Option<Self> {
        let text = fs::read_to_string(list).ok()?;
        let jars: Vec<PathBuf> = env::split_paths(text.trim()).collect();
        let complete = !jars.is_empty() && jars.iter().all(|jar| jar.is_file());
        complete.then_some(Self { jars })
    }
}

/// Where fetched things live: shared by all packages of the workspace and by parallel tests.
fn folder() -> PathBuf {
    if let Some(folder) = env::var_os(FOLDER) {
        return folder.into();
    }
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    workspace.join(target).join("maven")
}

/// Held until the file is closed; a killed test leaves nothing behind.
fn lock(path: &Path) -> Result<File, Error> {
    let file = File::create(path).map_err(Error::io("create", path))?;
    file.lock().map_err(Error::io("lock", path))?;
    Ok(file)
}

fn fetch(version: Version, own: &Path, repository: &Path, list: &Path) -> Result<(), Error> {
    let pom = own.join("pom.xml");
    fs::write(&pom, project(version)).map_err(Error::io("write", &pom))?;
    let fresh = list.with_extension("new");
    let mut output = String::new();
    for attempt in 0..TRIES {
        thread::sleep(PAUSE * attempt);
        match resolve(&pom, repository, &fresh)? {
            Ok(()) => return fs::rename(&fresh, list).map_err(Error::io("write", list)),
            Err(printed) => output = printed,
        }
    }
    Err(Error::Fetch { version, output })
}

/// One call of Maven; the inner error is what it printed.
fn resolve(pom: &Path, repository: &Path, list: &Path) -> Result<Result<(), String>, Error> {
    let mut repository_option = OsString::from("-Dmaven.repo.local=");
    repository_option.push(repository);
    let mut list_option = OsString::from("-Dmdep.outputFile=");
    list_option.push(list);
    let done = Command::new("mvn")
        .args(["-q", "-B", "-f"])
        .arg(pom)
        .arg(repository_option)
        .arg("dependency:build-classpath")
        .arg(list_option)
        .output()
        .map_err(Error::io("run", Path::new("mvn")))?;
    if done.status.success() {
        return Ok(Ok(()));
    }
    Ok(Err(String::from_utf8_lossy(&done.stdout).into_owned()))
}

/// Never built, only resolved.
fn project(version: Version) -> String {
    let dependency = |artifact| {
        format!(
            "<dependency><groupId>org.apache.rocketmq</groupId>\
             <artifactId>{artifact}</artifactId><version>{version}</version></dependency>\n"
        )
    };
    format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\">\n\
         <modelVersion>4.0.0</modelVersion>\n\
         <groupId>locum.tests</groupId><artifactId>real-master</artifactId>\
         <version>{version}</version><packaging>pom</packaging>\n\
         <dependencies>\n{}{}</dependencies>\n</project>\n",
        dependency("rocketmq-namesrv"),
        dependency("rocketmq-broker"),
    )
}
