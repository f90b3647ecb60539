//! The numbers of Java's `RpcException`, and what they are here (`docs/spec/dubbo-protocol.md` §14.1).

use dubbo_core::status::{Code, Origin, Retry, Status};

/// The code and the origin of an error that a peer threw as `RpcException` number `number`.
///
/// They decide about retries as `docs/spec/cluster.md` §7.3 has it; Triple's numbers for the same errors are not always
/// of the same class (`docs/spec/triple.md` §5.3), and where they are not, safety wins.
pub(super) fn from_number(number: i32) -> (Code, Origin) {
    NUMBERS
        .iter()
        .find(|row| row.0 == number)
        .map_or((Code::Unknown, Origin::Remote), |row| (row.1, row.2))
}

/// The number for an error of this side.
///
/// Java's clusters try again after any of them but [`BIZ`], so what must not be tried again is that, unless a number says
/// it better.
pub(super) fn to_number(status: &Status) -> i32 {
    match status.code() {
        _ if status.origin() == Origin::Business => BIZ,
        Code::DeadlineExceeded => TIMEOUT,
        Code::InvalidArgument => VALIDATION,
        Code::PermissionDenied => FORBIDDEN,
        Code::ResourceExhausted => LIMIT_EXCEEDED,
        Code::Unauthenticated => AUTHORIZATION,
        Code::Unavailable => NETWORK,
        Code::Unimplemented => METHOD_NOT_FOUND,
        Code::DataLoss => SERIALIZATION,
        _ if status.retry() == Retry::Never => BIZ,
        _ => UNKNOWN,
    }
}

const UNKNOWN: i32 = 0;
const NETWORK: i32 = 1;
const TIMEOUT: i32 = 2;
const BIZ: i32 = 3;
const FORBIDDEN: i32 = 4;
const SERIALIZATION: i32 = 5;
const NO_INVOKER_AVAILABLE_AFTER_FILTER: i32 = 6;
const LIMIT_EXCEEDED: i32 = 7;
const TIMEOUT_TERMINATE: i32 = 8;
const REGISTRY: i32 = 9;
const ROUTER_CACHE_NOT_BUILD: i32 = 10;
const METHOD_NOT_FOUND: i32 = 11;
const VALIDATION: i32 = 12;
const AUTHORIZATION: i32 = 13;

/// In the order of their numbers.
const NUMBERS: [(i32, Code, Origin); 14] = [
    (UNKNOWN, Code::Unknown, Origin::Remote),
    (NETWORK, Code::Unavailable, Origin::Remote),
    (TIMEOUT, Code::DeadlineExceeded, Origin::Remote),
    (BIZ, Code::Business, Origin::Business),
    (FORBIDDEN, Code::PermissionDenied, Origin::Remote),
    // Not code 13, which is tried again: the same value would fail again.
    (SERIALIZATION, Code::DataLoss, Origin::Remote),
    (
        NO_INVOKER_AVAILABLE_AFTER_FILTER,
        Code::Unavailable,
        Origin::Remote,
    ),
    // Not known to have been refused before the handler ran: the handler may have called what refused.
    (LIMIT_EXCEEDED, Code::ResourceExhausted, Origin::Remote),
    // The time of the whole call is over, wherever it is tried.
    (TIMEOUT_TERMINATE, Code::DeadlineExceeded, Origin::Business),
    (REGISTRY, Code::Unavailable, Origin::Remote),
    (ROUTER_CACHE_NOT_BUILD, Code::Unavailable, Origin::Remote),
    (METHOD_NOT_FOUND, Code::Unimplemented, Origin::Remote),
    (VALIDATION, Code::InvalidArgument, Origin::Remote),
    (AUTHORIZATION, Code::Unauthenticated, Origin::Remote),
];
