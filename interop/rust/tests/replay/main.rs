//! Replays the traffic that other implementations recorded: their requests against our server, their answers against
//! our client. `interop/replay/table.tsv` says for every record what has to come of it.

mod body;
mod by_hand;
mod calls;
mod classic;
mod client_side;
mod connections;
mod consumers;
mod cut;
mod messages;
mod party;
mod plain;
mod raw_client;
mod reading;
mod record;
mod reflected;
mod script;
mod server_side;
mod sheet;
mod shutdown;
mod table;
mod told;
mod users;
mod values;
mod wire;
mod wrapped;
mod wrapped_consumers;
