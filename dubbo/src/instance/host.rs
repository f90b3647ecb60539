//! The address that others reach this machine at.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};

/// What to publish for a service that listens on `ip`: that address, unless it stands for all of them.
///
/// `DUBBO_IP_TO_REGISTRY` wins over everything, as in dubbo-go and Dubbo Java: it is how a container publishes the
/// address of its host.
pub(super) fn published(ip: &str, to_registry: Option<&str>) -> String {
    if let Some(forced) = to_registry.filter(|text| !text.is_empty()) {
        return forced.to_owned();
    }
    match ip.parse::<IpAddr>() {
        Ok(address) if address.is_unspecified() => outward().to_string(),
        _ => ip.to_owned(),
    }
}

/// The address that this machine would use to reach others; loopback on a machine without a network.
fn outward() -> IpAddr {
    // Connecting a UDP socket sends nothing: it only asks the routing table.
    UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))
        .and_then(|socket| {
            socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9))?;
            socket.local_addr()
        })
        .map(|address| address.ip())
        .ok()
        .filter(|ip| !ip.is_unspecified())
        .unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_published_is_an_address_others_can_use() {
        assert_eq!(published("10.0.0.7", None), "10.0.0.7");
        assert_eq!(published("0.0.0.0", Some("192.0.2.9")), "192.0.2.9");
        assert_eq!(published("10.0.0.7", Some("")), "10.0.0.7");
        let found: IpAddr = published("0.0.0.0", None).parse().expect("an address");
        assert!(!found.is_unspecified());
        let found: IpAddr = published("::", None).parse().expect("an address");
        assert!(!found.is_unspecified());
    }
}
