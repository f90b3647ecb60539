//! Trying again, as this instance does it: what its configuration says, what its rules say, and what code says.

use dubbo_cluster::resend::{Following, Resend, dead_letter::DeadLetters};
use dubbo_core::extension::{BoxError, Extensions};
use parking_lot::Mutex;

use super::{Inner, Instance, export::application_name, rules::Rules};
use crate::config::Config;

impl Instance {
    /// How the clients of this instance try calls again: [policies](Resend::set_policies) and
    /// [switches](Resend::set_switches) can be set here while they run. What is set counts more than the rules
    /// `<application>.resend` and `<application>.switches`, and those more than `dubbo.retry`. `docs/resilience.md` explains
    /// every key.
    ///
    /// ```
    /// use dubbo::{Instance, resend::{PolicyDocument, Switches}};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let instance = Instance::builder().build()?;
    /// let strict = PolicyDocument::parse("code", "mode: strict").expect("no mistakes");
    /// instance.resend().set_policies(strict);
    /// instance.resend().set_switches(Switches::parse("code", "retry.enabled: false")?);
    /// assert!(!instance.resend().switches().retry_enabled);
    /// # Ok(())
    /// # }
    /// ```
    pub fn resend(&self) -> &Resend {
        &self.0.resending.resend
    }

    /// The calls that policies and `failback` have given up and kept: to be listed, replayed, held and purged. A replay goes
    /// by a client of the service that this instance has at that moment.
    ///
    /// ```no_run
    /// use dubbo::{Instance, resend::dead_letter::{Filter, Page, Reason}};
    ///
    /// # async fn example(instance: Instance) -> Result<(), Box<dyn std::error::Error>> {
    /// let letters = instance.dead_letters();
    /// let at_the_last_end = Filter::default().reason(Reason::Shutdown);
    /// for replay in letters.replay(&at_the_last_end).await? {
    ///     println!("{}: {:?}", replay.id, replay.result);
    /// }
    /// for letter in letters.list(&Filter::default(), Page::default()).await?.letters {
    ///     println!("{} of {}: {}", letter.method, letter.service, letter.reason);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn dead_letters(&self) -> &DeadLetters {
        self.0.dead_letters()
    }
}

impl Inner {
    /// The calls that are given up.
    pub(super) fn dead_letters(&self) -> &DeadLetters {
        &self.resending.letters
    }
}

/// What the references of an instance have in common.
pub(super) struct Resending {
    resend: Resend,
    letters: DeadLetters,
    /// Until somebody runs it: that takes a runtime.
    following: Mutex<Option<Following>>,
}

impl Resending {
    /// As `config` says; shared with the plugins that `extensions` makes from now on.
    ///
    /// # Errors
    ///
    /// Dead letters cannot be kept where the configuration says.
    pub(super) fn create(
        config: &Config,
        extensions: &Extensions,
        rules: &Rules,
    ) -> Result<Self, BoxError> {
        let resend = Resend::clone(&extensions.shared());
        let letters = DeadLetters::clone(&extensions.shared());
        if let Some(document) = &config.retry {
            if let Some(options) = &document.dead_letter {
                letters.open(extensions, options)?;
            }
            resend.configure(document.clone());
        }
        let following = resend.follow(rules.book(), application_name(config));
        Ok(Self {
            resend,
            letters,
            following: Mutex::new(Some(following)),
        })
    }

    /// How calls are tried again.
    pub(super) fn resend(&self) -> &Resend {
        &self.resend
    }

    /// Has changes of rules come into force, unless that has begun.
    pub(super) fn begin(&self, rules: &Rules) {
        if let Some(following) = self.following.lock().take() {
            rules.spawn(following.run());
        }
    }
}
