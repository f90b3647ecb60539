//! What dubbo-go's consumer loses by itself, and how it is told from what a provider loses.
//!
//! As soon as the registry no longer lists a provider, dubbo-go closes its connections to it, however many calls are under
//! way on them: what is read from then on is thrown away, the answers too, and the calls wait for the end of their time. No
//! provider can keep it from that. A call that was lost so was answered: only such calls are put down to dubbo-go, at most
//! one for each provider that leaves, since one call is made after the other.

use std::time::Duration;

use crate::failure::Failure;

/// How a provider left, and what became of the calls over `dubbo` to it.
#[derive(Debug)]
pub(super) struct Departure {
    pub(super) name: String,
    /// How many it has answered.
    pub(super) answered: u64,
    /// How many of these answers the consumer has counted.
    pub(super) heard: u64,
    /// How many calls to whomever failed while it left.
    pub(super) failed: u64,
    /// How many of them while it served as ever, long before it closed anything.
    pub(super) failed_staying: u64,
}

impl Departure {
    /// How many calls were dropped by dubbo-go itself.
    ///
    /// # Errors
    ///
    /// When any other call failed, or may have.
    pub(super) fn dropped(&self) -> Result<u64, Failure> {
        let unheard = self.answered.checked_sub(self.heard);
        match (self.failed, self.failed_staying, unheard) {
            (0, 0, Some(0)) => Ok(0),
            (1, 1, Some(1)) => Ok(1),
            _ => Err(Failure::new(
                format!(
                    "{} calls failed when {} left, {} of them while it still served; it has answered {} calls, of which the \
                     consumer counts {}",
                    self.failed, self.name, self.failed_staying, self.answered, self.heard
                ),
                "a call that dubbo-go drops itself fails while its provider serves, and was answered: look for what else fails",
            )),
        }
    }
}

/// The only contract over `dubbo`.
pub(super) const CONTRACT: &str = "dubbo/user";
/// The error of a call whose answer never came. A connection that ends gives none: the call waits for the end of its time.
pub(super) const ERROR: &str =
    "maybe the client read timeout or fail to decode tcp stream in Writer.Write";
/// How long a provider is watched that was told to leave: for longer than the three seconds that such a call waits, and not as
/// long as it stays.
pub(super) const STAYING: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answered_call_that_failed_while_its_provider_served_is_put_down_to_the_consumer() {
        for (answered, heard, failed, failed_staying, dropped) in [
            (7, 7, 0, 0, Some(0)),
            (7, 6, 1, 1, Some(1)),
            (7, 7, 1, 1, None),
            (7, 6, 1, 0, None),
            (7, 6, 0, 0, None),
            (7, 5, 2, 2, None),
            (7, 6, 2, 1, None),
            (6, 7, 0, 0, None),
        ] {
            let departure = Departure {
                name: "a".to_owned(),
                answered,
                heard,
                failed,
                failed_staying,
            };
            assert_eq!(departure.dropped().ok(), dropped, "{departure:?}");
        }
    }
}
