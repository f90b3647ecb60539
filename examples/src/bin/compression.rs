//! Compression: what a long message and its answer weigh on the wire, without and with it.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::time::Duration;

use dubbo::{
    Instance,
    config::{Compression, CompressionConfig, ProtocolConfig, ReferenceConfig, TripleConfig},
};
use examples::{
    Polite,
    greet::{GreetRequest, GreeterClient, GreeterServer},
};
use tokio::{
    io,
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let plain = weigh(&[]).await?;
    println!("plain: {plain} bytes");
    for compression in Compression::ALL {
        let bytes = weigh(&[compression]).await?;
        println!("{compression}: {bytes} bytes, {} %", bytes * 100 / plain);
    }
    Ok(())
}

/// How many bytes one call takes in both directions, when provider and consumer send this.
async fn weigh(send: &[Compression]) -> Result<u64, Box<dyn std::error::Error>> {
    // In YAML, below a protocol and below `protocol_config` of a reference: `triple: {compression: {send: zstd}}`.
    let compression = CompressionConfig::new().send(send.to_vec()).min_size(512);
    let triple = TripleConfig::new().compression(compression);
    let protocol = ProtocolConfig::new().ip("127.0.0.1").port(0);
    let instance = Instance::builder()
        .application("compression")
        .protocol("tri", protocol.triple(triple.clone()))
        .provide(GreeterServer::new(Polite))
        .build()?;
    instance.start().await?;

    let (address, counted) = relay(instance.exported()[0].address()).await?;
    let options = ReferenceConfig::new().url([format!("tri://{address}")]);
    let greeter: GreeterClient = instance.refer_with(options.triple(triple)).await?;
    let name = "everybody at once, ".repeat(1_000);
    greeter.greet(GreetRequest { name }).await?;

    drop(greeter);
    instance.shutdown(Duration::from_secs(1)).await;
    Ok(counted.await??)
}

/// Stands before `provider`, and counts what passes through one connection.
async fn relay(provider: String) -> io::Result<(String, JoinHandle<io::Result<u64>>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    let counted = tokio::spawn(async move {
        let (mut consumer, _) = listener.accept().await?;
        let mut provider = TcpStream::connect(provider).await?;
        let (up, down) = io::copy_bidirectional(&mut consumer, &mut provider).await?;
        Ok(up + down)
    });
    Ok((address, counted))
}
