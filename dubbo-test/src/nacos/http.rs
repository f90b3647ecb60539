//! The one call of the HTTP API that nacos-sdk makes: the login.

use std::{io, sync::Arc};

use percent_encoding::percent_decode_str;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{gate::Gated, state::Shared};

/// Answers one request and closes. An error of the transport ends it: there is nobody to tell.
pub(super) async fn serve(socket: TcpStream, shared: Arc<Shared>) {
    let gate = shared.gate.clone();
    let mut socket = Gated { io: socket, gate };
    let Ok(Some(target)) = read_head(&mut socket).await else {
        return;
    };
    let (status, body) = answer(&shared, &target);
    let len = body.len();
    let response = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len}\r\nconnection: close\r\n\r\n{body}"
    );
    if socket.write_all(response.as_bytes()).await.is_ok() {
        let _ = socket.shutdown().await;
    }
}

/// The method and target of the request line; `None` if the head does not end within reason.
async fn read_head(socket: &mut Gated<TcpStream>) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > MAX_HEAD {
            return Ok(None);
        }
        head.push(socket.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head);
    let line = head.lines().next().unwrap_or_default();
    Ok(line.rsplit_once(' ').map(|(request, _)| request.to_owned()))
}

fn answer(shared: &Shared, request: &str) -> (String, String) {
    let (path, query) = request.split_once('?').unwrap_or((request, ""));
    if path != "POST /nacos/v1/auth/login" {
        let why = format!("the scripted Nacos has no `{path}`");
        return ("404 Not Found".to_owned(), why);
    }
    let field = |name| {
        let mut fields = query.split('&').filter_map(|field| field.split_once('='));
        let value = fields
            .find(|(key, _)| *key == name)
            .map_or("", |(_, value)| value);
        let value = value.replace('+', " ");
        percent_decode_str(&value).decode_utf8_lossy().into_owned()
    };
    let (user, password) = (field("username"), field("password"));
    match shared.update(|state, now| state.auth.login(&user, &password, now)) {
        Ok(login) => {
            let body = json!({
                "accessToken": login.token,
                "tokenTtl": login.ttl.as_secs(),
                "globalAdmin": true,
                "username": user,
            });
            ("200 OK".to_owned(), body.to_string())
        }
        Err((status, text)) => (format!("{status} "), text),
    }
}

const MAX_HEAD: usize = 65_536;
