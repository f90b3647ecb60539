//! A row of the tables.

use crate::interop::{
    expect::Expect,
    route::{Party, Protocol, Route, Ways},
};

/// A case that the consumers know by this name.
#[derive(Debug)]
pub(in crate::interop) struct Case {
    pub(in crate::interop) name: String,
    pub(in crate::interop) family: Family,
    protocols: &'static [Protocol],
    usual: Expect,
    exceptions: Vec<Exception>,
    /// Where the peer drops the connection over it.
    drops: Vec<Ways>,
}

/// What the cases of a table have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::interop) enum Family {
    /// Services that are described in protobuf.
    Protobuf,
    /// Services that are Java interfaces.
    Java,
    /// What is asked of peers that know gRPC alone.
    Grpc,
}

/// A case over one protocol in one direction.
#[derive(Debug)]
pub(in crate::interop) struct Leg<'a> {
    pub(in crate::interop) expect: &'a Expect,
    pub(in crate::interop) verdict: Verdict,
    /// What is special about it.
    pub(in crate::interop) note: &'static str,
}

/// How what is expected stands to the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::interop) enum Verdict {
    /// It is the contract's.
    Right,
    /// The peer decides that it is something else.
    Peer,
}

#[derive(Debug)]
struct Exception {
    ways: Ways,
    /// None: the case is not run.
    leg: Option<(Expect, Verdict)>,
    note: &'static str,
}

/// A case whose calls come to `usual`. It is one of protobuf, over Triple, unless said otherwise.
pub(super) fn case(name: impl Into<String>, usual: Expect) -> Case {
    Case {
        name: name.into(),
        family: Family::Protobuf,
        protocols: &[Protocol::Tri],
        usual,
        exceptions: Vec::new(),
        drops: Vec::new(),
    }
}

impl Case {
    /// It is one of Java interfaces, over both protocols.
    pub(super) fn java(self) -> Self {
        Self {
            family: Family::Java,
            protocols: &Protocol::ALL,
            ..self
        }
    }

    /// It is one for peers that know gRPC alone.
    pub(super) fn grpc(self) -> Self {
        Self {
            family: Family::Grpc,
            ..self
        }
    }

    /// It is run over this protocol only.
    pub(super) fn only(self, protocol: &'static [Protocol]) -> Self {
        Self {
            protocols: protocol,
            ..self
        }
    }

    /// On these ways the contract's result looks like this.
    pub(super) fn also(self, ways: Ways, expect: Expect, note: &'static str) -> Self {
        self.except(ways, Some((expect, Verdict::Right)), note)
    }

    /// On these ways the peer decides that it comes to something else.
    pub(super) fn peer(self, ways: Ways, expect: Expect, note: &'static str) -> Self {
        self.except(ways, Some((expect, Verdict::Peer)), note)
    }

    /// On these ways it is not run.
    pub(super) fn without(self, ways: Ways, note: &'static str) -> Self {
        self.except(ways, None, note)
    }

    /// On these ways the peer drops the connection over it, so it comes after all others.
    pub(super) fn drops_connection(mut self, ways: Ways) -> Self {
        self.drops.push(ways);
        self
    }

    /// Whether it has to come last.
    pub(in crate::interop) fn comes_last(&self, route: Route, protocol: Protocol) -> bool {
        self.drops.iter().any(|ways| ways.include(route, protocol))
    }

    pub(in crate::interop) fn runs_over(&self, protocol: Protocol) -> bool {
        self.protocols.contains(&protocol)
    }

    /// What it has to come to; none where it is not run.
    pub(in crate::interop) fn leg(&self, route: Route, protocol: Protocol) -> Option<Leg<'_>> {
        let known = match self.family {
            Family::Protobuf => true,
            Family::Java => !route.is_grpc(),
            Family::Grpc => route.is_grpc(),
        };
        if !known || !self.protocols.contains(&protocol) {
            return None;
        }
        let exception = self.exception(route, protocol);
        match exception.map(|exception| (&exception.leg, exception.note)) {
            None => Some(Leg {
                expect: &self.usual,
                verdict: Verdict::Right,
                note: "",
            }),
            Some((Some((expect, verdict)), note)) => Some(Leg {
                expect,
                verdict: *verdict,
                note,
            }),
            Some((None, _)) => None,
        }
    }

    /// Why it is not run; empty where it is, or where there is nothing to say about it.
    pub(in crate::interop) fn reason_to_leave_out(
        &self,
        route: Route,
        protocol: Protocol,
    ) -> &'static str {
        match self.exception(route, protocol) {
            Some(Exception {
                leg: None, note, ..
            }) if self.protocols.contains(&protocol) => note,
            _ => "",
        }
    }

    /// Every form of the contract's result on this way; none where it is not run.
    pub(in crate::interop) fn right_results(
        &self,
        route: Route,
        protocol: Protocol,
    ) -> Vec<&Expect> {
        if self.leg(route, protocol).is_none() {
            return Vec::new();
        }
        let others = self
            .exceptions
            .iter()
            .filter(|exception| exception.ways.include(route, protocol))
            .filter_map(|exception| match &exception.leg {
                Some((expect, Verdict::Right)) => Some(expect),
                _ => None,
            });
        [&self.usual].into_iter().chain(others).collect()
    }

    /// What is not run is not run; else the last one that was added is the one that counts.
    fn exception(&self, route: Route, protocol: Protocol) -> Option<&Exception> {
        let mut here = self
            .exceptions
            .iter()
            .filter(|exception| exception.ways.include(route, protocol));
        here.clone()
            .find(|exception| exception.leg.is_none())
            .or_else(|| here.next_back())
    }

    fn except(mut self, ways: Ways, leg: Option<(Expect, Verdict)>, note: &'static str) -> Self {
        self.exceptions.push(Exception { ways, leg, note });
        self
    }
}

impl Route {
    /// Whether we are one of the two.
    pub(in crate::interop) fn is_ours(self) -> bool {
        [self.consumer, self.provider].contains(&Party::Rust)
    }
}
