//! Messages on standard input and output: four bytes of length, the highest first, then the message.

use std::io::{self, ErrorKind};

use prost::Message;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// The next message of `input`; `None` at its end.
///
/// # Errors
///
/// The input cannot be read, ends within a message, or has something else.
pub async fn read<M: Message + Default>(
    input: &mut (impl AsyncRead + Unpin),
) -> io::Result<Option<M>> {
    let mut first = [0];
    if input.read(&mut first).await? == 0 {
        return Ok(None);
    }
    let mut rest = [0; 3];
    input.read_exact(&mut rest).await?;
    let [second, third, fourth] = rest;
    let length = u32::from_be_bytes([first[0], second, third, fourth]);
    let mut message = Vec::new();
    // It grows as the bytes come, however many were announced.
    let read = input.take(length.into()).read_to_end(&mut message).await?;
    if read < length as usize {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let message = M::decode(&message[..]);
    message
        .map(Some)
        .map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

/// Writes `message` to `output`.
///
/// # Errors
///
/// The output cannot be written to.
pub async fn write(
    output: &mut (impl AsyncWrite + Unpin),
    message: &impl Message,
) -> io::Result<()> {
    let message = message.encode_to_vec();
    let length = u32::try_from(message.len()).map_err(io::Error::other)?;
    output.write_all(&length.to_be_bytes()).await?;
    output.write_all(&message).await?;
    output.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_written_is_read_until_the_end() {
        let mut bytes = Vec::new();
        for message in ["", "seven", "eight"] {
            write(&mut bytes, &message.to_owned())
                .await
                .expect("a vector takes it");
        }
        let mut input = &bytes[..];
        for want in ["", "seven", "eight"] {
            let read: Option<String> = read(&mut input).await.expect("whole");
            assert_eq!(read.as_deref(), Some(want));
        }
        assert_eq!(read::<String>(&mut input).await.expect("the end"), None);
    }

    #[tokio::test]
    async fn an_end_within_a_message_is_an_error() {
        for bytes in [&b"\0\0"[..], b"\0\0\0\x05abc", b"\xff\xff\xff\xffabc"] {
            let mut input = bytes;
            let error = read::<String>(&mut input).await.expect_err("cut off");
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{bytes:?}");
        }
    }
}
