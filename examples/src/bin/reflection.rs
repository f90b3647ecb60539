//! A client that knows no proto file asks a provider what it serves, and what its messages are: gRPC's server reflection,
//! which every Triple port has. `grpcurl -plaintext HOST:PORT list` does the same.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::error::Error;

use dubbo::{
    Instance, Streaming,
    config::{ProtocolConfig, ReferenceConfig},
    stream,
};
use examples::{
    Polite,
    greet::GreeterServer,
    reflection::{
        ServerReflectionClient, ServerReflectionRequest, ServerReflectionResponse,
        server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
    },
    users::{UserServiceServer, Users},
};
use prost::Message as _;
use prost_types::{FieldDescriptorProto, FileDescriptorProto};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let provider = Instance::builder()
        .application("reflection")
        .protocol("tri", ProtocolConfig::new().ip("127.0.0.1").port(0))
        .provide(GreeterServer::new(Polite))
        .provide(UserServiceServer::new(Users))
        .build()?;
    provider.start().await?;
    let url = format!("tri://{}", provider.exported()[0].address());
    let consumer = Instance::builder().application("curious").build()?;
    let options = ReferenceConfig::new().url([url]);
    let reflection: ServerReflectionClient = consumer.refer_with(options).await?;

    let (questions, feed) = stream::channel(1);
    let call = reflection.server_reflection_info(feed).await?;
    let mut answers = call.into_message();
    for question in [
        MessageRequest::ListServices(String::new()),
        MessageRequest::FileContainingSymbol("greet.Greeter".to_owned()),
        // A Java interface has no proto file.
        MessageRequest::FileContainingSymbol("com.example.UserService".to_owned()),
    ] {
        questions
            .send(ServerReflectionRequest {
                message_request: Some(question),
                ..ServerReflectionRequest::default()
            })
            .await?;
        show(&mut answers).await?;
    }
    drop(questions);
    println!("end: {}", answers.message().await?.is_none());
    Ok(())
}

async fn show(answers: &mut Streaming<ServerReflectionResponse>) -> Result<(), Box<dyn Error>> {
    let answer = answers.message().await?.ok_or("it said nothing")?;
    match answer.message_response.ok_or("it says nothing")? {
        MessageResponse::ListServicesResponse(list) => {
            for service in list.service {
                println!("{}", service.name);
            }
        }
        MessageResponse::FileDescriptorResponse(files) => {
            for file in files.file_descriptor_proto {
                describe(&FileDescriptorProto::decode(file)?);
            }
        }
        MessageResponse::ErrorResponse(miss) => println!("{}", miss.error_message),
        MessageResponse::AllExtensionNumbersResponse(_) => {}
    }
    Ok(())
}

fn describe(file: &FileDescriptorProto) {
    for message in &file.message_type {
        let fields: Vec<_> = message
            .field
            .iter()
            .map(FieldDescriptorProto::name)
            .collect();
        println!("message {}: {}", message.name(), fields.join(", "));
    }
    for service in &file.service {
        println!("service {}", service.name());
        for method in &service.method {
            let stream = |streams| if streams { "stream " } else { "" };
            println!(
                "  {}({}{}) -> {}{}",
                method.name(),
                stream(method.client_streaming()),
                method.input_type(),
                stream(method.server_streaming()),
                method.output_type(),
            );
        }
    }
}
