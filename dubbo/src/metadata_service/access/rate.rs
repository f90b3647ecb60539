//! So many requests a second from each peer, in bounded memory.

use std::{
    collections::HashMap,
    fmt,
    net::{IpAddr, Ipv6Addr},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;

/// A rate that each peer has for itself: as many requests as it says at once, and one more whenever its share of a second
/// has passed.
///
/// A peer is known by the time at which it has nothing left to pay for, and need not be known after that. Those beyond
/// [`MOST_PEERS`] have one rate in common.
pub(super) struct RateLimit {
    per_second: u32,
    peers: Mutex<Peers>,
}

struct Peers {
    /// When each has paid for what it asked.
    paid: HashMap<IpAddr, Instant>,
    /// The same for all that find no place.
    others_paid: Instant,
    /// When there was last looked for places that are free.
    swept: Instant,
}

impl RateLimit {
    /// No limit at all for 0.
    pub(super) fn new(per_second: u32) -> Option<Self> {
        let now = Instant::now();
        (per_second > 0).then(|| Self {
            per_second,
            peers: Mutex::new(Peers {
                paid: HashMap::new(),
                others_paid: now,
                swept: now,
            }),
        })
    }

    /// Whether a request of `peer` may be done at `now`; else how long it is too early.
    pub(super) fn admit(&self, peer: IpAddr, now: Instant) -> Result<(), Duration> {
        let share = SECOND / self.per_second;
        let mut peers = self.peers.lock();
        let paid = peers.place(network(peer), now);
        let then = (*paid).max(now) + share;
        let early = then.saturating_duration_since(now).saturating_sub(SECOND);
        if early > Duration::ZERO {
            return Err(early);
        }
        *paid = then;
        Ok(())
    }
}

impl Peers {
    fn place(&mut self, peer: IpAddr, now: Instant) -> &mut Instant {
        let is_full = self.paid.len() >= MOST_PEERS && !self.paid.contains_key(&peer);
        // Not at every request, because it takes as long as there are peers.
        if is_full && now.saturating_duration_since(self.swept) >= SECOND {
            self.paid.retain(|_, paid| *paid > now);
            self.swept = now;
        }
        if is_full && self.paid.len() >= MOST_PEERS {
            return &mut self.others_paid;
        }
        self.paid.entry(peer).or_insert(now)
    }
}

impl fmt::Display for RateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} requests a second", self.per_second)
    }
}

/// Whoever has one address of IPv6 has all that begin with the same 64 bits.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address @ IpAddr::V4(_) => address,
    }
}

const SECOND: Duration = Duration::from_secs(1);

/// How many peers are told apart: some 200 KiB.
const MOST_PEERS: usize = 4096;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn peer(number: u32) -> IpAddr {
        Ipv4Addr::from_bits(number).into()
    }

    fn admitted(limit: &RateLimit, peer: IpAddr, now: Instant, tries: usize) -> usize {
        (0..tries)
            .filter(|_| limit.admit(peer, now).is_ok())
            .count()
    }

    #[test]
    fn a_rate_is_had_at_once_and_then_by_its_share_of_a_second() {
        let limit = RateLimit::new(200).expect("a limit");
        let start = Instant::now();
        assert_eq!(admitted(&limit, peer(1), start, 1_000), 200);
        assert_eq!(limit.admit(peer(1), start), Err(Duration::from_millis(5)));
        for (after, want) in [(4, 0), (5, 1), (10, 1), (510, 100), (9_000, 200)] {
            let now = start + Duration::from_millis(after);
            assert_eq!(admitted(&limit, peer(1), now, 1_000), want, "{after} ms");
        }
    }

    #[test]
    fn who_is_refused_pays_nothing() {
        let limit = RateLimit::new(1).expect("a limit");
        let start = Instant::now();
        assert_eq!(admitted(&limit, peer(1), start, 1_000), 1);
        assert_eq!(admitted(&limit, peer(1), start + SECOND, 1_000), 1);
    }

    #[test]
    fn any_number_of_peers_takes_no_more_than_its_room() {
        let limit = RateLimit::new(2).expect("a limit");
        let start = Instant::now();
        for number in 0..100_000 {
            let _ = limit.admit(peer(number), start);
        }
        assert_eq!(limit.peers.lock().paid.len(), MOST_PEERS);
        // Those that came first are served as before, the others share one rate until places are free again.
        assert_eq!(admitted(&limit, peer(7), start, 10), 1);
        assert_eq!(admitted(&limit, peer(99_999), start, 10), 0);
        let later = start + 2 * SECOND;
        assert_eq!(admitted(&limit, peer(99_999), later, 10), 2);
        assert_eq!(admitted(&limit, peer(99_998), later, 10), 2);
        assert!(limit.peers.lock().paid.len() < 10);
    }

    #[test]
    fn one_network_of_ipv6_is_one_peer_and_a_mapped_address_is_the_one_it_stands_for() {
        for (one, other, same) in [
            ("2001:db8::1", "2001:db8::2:3", true),
            ("2001:db8::1", "2001:db8:0:1::1", false),
            ("10.0.0.1", "::ffff:10.0.0.1", true),
            ("10.0.0.1", "10.0.0.2", false),
        ] {
            let network = |text: &str| network(text.parse().expect("an address"));
            assert_eq!(network(one) == network(other), same, "{one} {other}");
        }
    }
}
