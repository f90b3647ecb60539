//! Files that change while the program runs: what is in them is used from the next handshake on.

use std::{path::Path, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use dubbo_core::{files::Watched, protocol::ProtocolError, tls::TlsFiles};
use metrics::counter;
use parking_lot::Mutex;
use tokio::time::{MissedTickBehavior, interval};

/// What is made of the files of TLS, for one side of connections: the last that could be made.
pub(super) struct Reloading<C> {
    /// `server` or `client`, for the log and for what is counted.
    side: &'static str,
    files: Arc<TlsFiles>,
    make: Box<Make<C>>,
    made: ArcSwap<C>,
    watched: Mutex<Watched>,
}

/// Makes it of what is in the files now.
type Make<C> = dyn Fn(&TlsFiles) -> Result<C, ProtocolError> + Send + Sync;

impl<C: Send + Sync + 'static> Reloading<C> {
    /// Makes it for the first time.
    ///
    /// # Errors
    ///
    /// Those of `make`.
    pub(super) fn load(
        side: &'static str,
        files: &Arc<TlsFiles>,
        make: impl Fn(&TlsFiles) -> Result<C, ProtocolError> + Send + Sync + 'static,
    ) -> Result<Arc<Self>, ProtocolError> {
        // Before they are read: what is written meanwhile looks different then.
        let watched = Watched::known(paths(files));
        let first = make(files)?;
        Ok(Arc::new(Self {
            side,
            files: Arc::clone(files),
            make: Box::new(make),
            made: ArcSwap::from_pointee(first),
            watched: Mutex::new(watched),
        }))
    }

    /// What handshakes that begin now use.
    pub(super) fn current(&self) -> Arc<C> {
        self.made.load_full()
    }

    /// Looks at the files every second, until it is dropped or nobody needs it any more.
    pub(super) fn follow(self: &Arc<Self>) -> impl Future<Output = ()> + Send + use<C> {
        let followed = Arc::downgrade(self);
        async move {
            let mut ticks = interval(PERIOD);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let Some(followed) = followed.upgrade() else {
                    return;
                };
                // A disk may take its time.
                if (tokio::task::spawn_blocking(move || followed.look()).await).is_err() {
                    return;
                }
            }
        }
    }

    /// Looks at the files once. Those that have changed are read when they look the same a second time: a certificate and
    /// its key are written one after the other.
    fn look(&self) {
        if !self.watched.lock().look(paths(&self.files)) {
            return;
        }
        let side = self.side;
        let result = match (self.make)(&self.files) {
            Ok(made) => {
                self.made.store(Arc::new(made));
                tracing::info!(side, "the files of TLS have changed and were read again");
                "used"
            }
            Err(error) => {
                tracing::warn!(side, %error, "the files of TLS have changed and cannot be used; what was in them before stays");
                "refused"
            }
        };
        counter!("dubbo_tls_reloads_total", "side" => side, "result" => result).increment(1);
    }
}

/// Those of the files that there are to be.
fn paths(files: &TlsFiles) -> impl Iterator<Item = &Path> {
    let files = [&files.ca_cert, &files.cert, &files.key];
    files.into_iter().filter_map(|path| path.as_deref())
}

/// Between two looks.
const PERIOD: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use dubbo_test::{certificates::Authority, logs::Logs, metrics::Numbers};

    use super::*;

    /// What is in the file of the certificate, unless it is `bad`.
    fn text(files: &TlsFiles) -> Result<String, ProtocolError> {
        let path = files.cert.clone().unwrap_or_default();
        let refused = |reason: String| ProtocolError::Setting {
            setting: "cert".to_owned(),
            reason: format!("{}: {reason}", path.display()),
        };
        match fs::read_to_string(&path) {
            Ok(text) if text == "bad" => Err(refused("it is bad".to_owned())),
            Ok(text) => Ok(text),
            Err(error) => Err(refused(error.to_string())),
        }
    }

    fn files(cert: PathBuf) -> Arc<TlsFiles> {
        let mut files = TlsFiles::none();
        files.cert = Some(cert);
        Arc::new(files)
    }

    /// Writes a file as those do who rotate them: beside it, and then in its place.
    fn write(path: &Path, text: &str) {
        let beside = path.with_extension("new");
        fs::write(&beside, text).expect("room");
        fs::rename(beside, path).expect("its folder is there");
    }

    #[test]
    fn what_has_changed_is_read_once_it_is_left_alone_and_what_is_bad_is_told_once() {
        let (logs, _logging) = Logs::record();
        let numbers = Numbers::default();
        let _recording = metrics::set_default_local_recorder(&numbers);
        let authority = Authority::new();
        let path = authority.file().with_extension("text");
        write(&path, "one");
        let followed = Reloading::load("server", &files(path.clone()), text).expect("good");
        let after = |looks: usize| {
            (0..looks).for_each(|_| followed.look());
            followed.current().to_string()
        };
        let told = |part| logs.with(part).len();
        let counted = |result: &str| {
            let name = format!("dubbo_tls_reloads_total{{result={result},side=server}}");
            numbers.get(&name).to_string()
        };

        assert_eq!(after(3), "one");
        assert_eq!((&*counted("used"), told("read again")), ("0", 0));

        write(&path, "two");
        assert_eq!(after(1), "one", "it may not be complete");
        assert_eq!(after(1), "two");
        assert_eq!((&*counted("used"), told("read again")), ("1", 1));

        for (bad, refused) in [(Some("bad"), "1"), (None, "2")] {
            match bad {
                Some(bad) => write(&path, bad),
                None => fs::remove_file(&path).expect("it is there"),
            }
            assert_eq!(after(5), "two", "{bad:?}");
            assert_eq!(counted("refused"), refused, "{bad:?}");
        }
        let lines = logs.with("what was in them before stays");
        let [bad, gone] = &lines[..] else {
            panic!("one line for each: {lines:?}");
        };
        let file = path.display().to_string();
        for (line, why) in [(bad, "it is bad"), (gone, "No such file")] {
            for part in ["WARN", "side=server", &*file, why] {
                assert!(line.contains(part), "{part} in {line}");
            }
        }

        write(&path, "three");
        assert_eq!(after(2), "three");
    }

    #[test]
    fn a_link_that_leads_elsewhere_is_another_file() {
        let authority = Authority::new();
        let folder = authority.file().with_extension("d");
        let at = |name: &str| folder.join(name);
        for name in ["1", "2"] {
            fs::create_dir_all(at(name)).expect("room");
            fs::write(at(name).join("tls.crt"), name).expect("room");
        }
        // As a mounted secret of Kubernetes is.
        let point = |to: &str| {
            let _ = fs::remove_file(at("data"));
            std::os::unix::fs::symlink(to, at("data")).expect("links work");
        };
        point("1");
        let files = files(at("data").join("tls.crt"));
        let followed = Reloading::load("client", &files, text).expect("good");
        point("2");
        followed.look();
        followed.look();
        assert_eq!(*followed.current(), "2");
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_followed_as_long_as_somebody_needs_it() {
        let authority = Authority::new();
        let path = authority.file().with_extension("text");
        write(&path, "one");
        let followed = Reloading::load("server", &files(path.clone()), text).expect("good");
        let following = tokio::spawn(followed.follow());
        write(&path, "two");
        tokio::time::sleep(3 * PERIOD).await;
        assert_eq!(*followed.current(), "two");
        drop(followed);
        following.await.expect("it ends");
    }
}
