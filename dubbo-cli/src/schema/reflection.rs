//! Asking a server what it serves: gRPC's server reflection, v1 and, where that is all there is, v1alpha.

#[allow(
    clippy::all,
    clippy::pedantic,
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "generated from a proto file"
)]
mod proto {
    dubbo::include_proto!("grpc.reflection.v1");
}

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use dubbo::{Code, Instance, Status, Streaming, stream};
use prost::Message as _;
use prost_reflect::DescriptorPool;
use prost_types::FileDescriptorProto;

use self::proto::{
    ServerReflectionClient, ServerReflectionRequest, ServerReflectionResponse,
    server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
};
use crate::{
    fail::{Class, Failure},
    reach::{Reach, Target},
};

/// The reflection of one server.
pub(crate) struct Reflection {
    client: ServerReflectionClient,
    address: String,
    patience: Duration,
}

impl Reflection {
    /// That of the server at `target`; nothing when it has none.
    ///
    /// # Errors
    ///
    /// The server cannot be reached.
    pub(crate) async fn of(
        instance: &Instance,
        reach: &Reach,
        target: &Target,
    ) -> Result<Option<Self>, Failure> {
        for version in [V1, V1_ALPHA] {
            let mut options = reach.reference(Some(target)).interface(version);
            // It has neither, whatever the service has that is asked for.
            (options.group, options.version) = (None, None);
            let reflection = Self {
                client: instance.refer_with(options).await?,
                address: target.as_str().to_owned(),
                patience: reach.timeout(),
            };
            match reflection.services().await {
                Ok(_) => return Ok(Some(reflection)),
                Err(failure) if failure.code() == Some(Code::Unimplemented) => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(None)
    }

    /// The names of all services.
    pub(crate) async fn services(&self) -> Result<Vec<String>, Failure> {
        self.within(async {
            let mut dialog = Dialog::begin(&self.client, list()).await?;
            match dialog.answer().await? {
                MessageResponse::ListServicesResponse(list) => {
                    Ok(list.service.into_iter().map(|one| one.name).collect())
                }
                other => Err(Unusable::answer(&other)),
            }
        })
        .await
    }

    /// All that the proto file defines that defines `symbol`, with what it imports; nothing when the server knows none.
    pub(crate) async fn schema(&self, symbol: &str) -> Result<Option<DescriptorPool>, Failure> {
        let files = self.within(self.files(symbol)).await?;
        let Some(files) = files else {
            return Ok(None);
        };
        let mut pool = DescriptorPool::new();
        pool.add_file_descriptor_protos(files).map_err(|error| {
            self.unusable(&format!("its proto files do not fit together: {error}"))
        })?;
        Ok(Some(pool))
    }

    /// The proto file of `symbol` and those it imports. Some servers send all of them at once, some are asked for each.
    async fn files(&self, symbol: &str) -> Result<Option<Vec<FileDescriptorProto>>, Unusable> {
        let question = MessageRequest::FileContainingSymbol(symbol.to_owned());
        let mut dialog = Dialog::begin(&self.client, question).await?;
        let mut files = BTreeMap::new();
        match dialog.answer().await? {
            MessageResponse::ErrorResponse(error)
                if u32::try_from(error.error_code).map(Code::from_number) == Ok(Code::NotFound) =>
            {
                return Ok(None);
            }
            answer => take(answer, &mut files)?,
        }
        loop {
            let missing = missing(&files);
            let Some(name) = missing.first() else {
                break;
            };
            if let Some(known) = well_known(name) {
                files.insert(name.clone(), known);
                continue;
            }
            dialog
                .ask(MessageRequest::FileByFilename(name.clone()))
                .await?;
            take(dialog.answer().await?, &mut files)?;
            if !files.contains_key(name) {
                return Err(Unusable::Answer(format!("it does not send `{name}`")));
            }
            if files.len() > MOST_FILES {
                let text = format!("it has more than {MOST_FILES} proto files");
                return Err(Unusable::Answer(text));
            }
        }
        Ok(Some(files.into_values().collect()))
    }

    async fn within<T>(
        &self,
        asked: impl Future<Output = Result<T, Unusable>>,
    ) -> Result<T, Failure> {
        match tokio::time::timeout(self.patience, asked).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(Unusable::Status(status))) => Err(Failure::from(status)
                .during(&format!("cannot ask {} what it serves", self.address))),
            Ok(Err(Unusable::Answer(why))) => Err(self.unusable(&why)),
            Err(_) => Err(Failure::new(
                Class::TimedOut,
                format!(
                    "{} does not say what it serves within {} ms",
                    self.address,
                    self.patience.as_millis()
                ),
            )
            .advise("give it more time with `--timeout`")),
        }
    }

    fn unusable(&self, why: &str) -> Failure {
        let text = format!(
            "what {} says about its services is no use: {why}",
            self.address
        );
        Failure::new(Class::Refused, text).advise("give a set of descriptors with `--descriptor`")
    }
}

/// One stream of questions and answers.
struct Dialog {
    questions: stream::Feed<ServerReflectionRequest>,
    answers: Streaming<ServerReflectionResponse>,
}

impl Dialog {
    /// Asks the first question. Some servers say nothing at all before it.
    async fn begin(
        client: &ServerReflectionClient,
        first: MessageRequest,
    ) -> Result<Self, Unusable> {
        let (questions, feed) = stream::channel(1);
        // There is room for it before anybody reads.
        let _ = questions.send(request(first)).await;
        let answers = client.server_reflection_info(feed).await?.into_message();
        Ok(Self { questions, answers })
    }

    async fn ask(&self, question: MessageRequest) -> Result<(), Unusable> {
        let sent = self.questions.send(request(question)).await;
        sent.map_err(|_| Unusable::Answer("it ended the stream".to_owned()))
    }

    async fn answer(&mut self) -> Result<MessageResponse, Unusable> {
        let answer = self.answers.message().await?;
        let answer = answer.and_then(|answer| answer.message_response);
        answer.ok_or_else(|| Unusable::Answer("it says nothing".to_owned()))
    }
}

/// Why there is no answer that can be used.
enum Unusable {
    Answer(String),
    Status(Status),
}

impl Unusable {
    fn answer(answer: &MessageResponse) -> Self {
        Self::Answer(match answer {
            MessageResponse::ErrorResponse(error) => {
                format!("{} (code {})", error.error_message, error.error_code)
            }
            _ => "it answers another question than it was asked".to_owned(),
        })
    }
}

impl From<Status> for Unusable {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

fn request(question: MessageRequest) -> ServerReflectionRequest {
    ServerReflectionRequest {
        message_request: Some(question),
        ..ServerReflectionRequest::default()
    }
}

fn list() -> MessageRequest {
    MessageRequest::ListServices(String::new())
}

fn take(
    answer: MessageResponse,
    files: &mut BTreeMap<String, FileDescriptorProto>,
) -> Result<(), Unusable> {
    let MessageResponse::FileDescriptorResponse(response) = answer else {
        return Err(Unusable::answer(&answer));
    };
    for bytes in response.file_descriptor_proto {
        let file = FileDescriptorProto::decode(bytes)
            .map_err(|error| Unusable::Answer(format!("a proto file cannot be read: {error}")))?;
        files.insert(file.name().to_owned(), file);
    }
    Ok(())
}

/// What is imported and not there yet.
fn missing(files: &BTreeMap<String, FileDescriptorProto>) -> BTreeSet<String> {
    let imports = files.values().flat_map(|file| &file.dependency);
    let missing = imports.filter(|name| !files.contains_key(*name));
    missing.cloned().collect()
}

/// A file of protobuf itself, which nobody has to be asked for.
fn well_known(name: &str) -> Option<FileDescriptorProto> {
    let is_of_protobuf = name.starts_with("google/protobuf/");
    let file = DescriptorPool::global().get_file_by_name(name)?;
    is_of_protobuf.then(|| file.file_descriptor_proto().clone())
}

const V1: &str = "grpc.reflection.v1.ServerReflection";

/// The same messages under another name.
const V1_ALPHA: &str = "grpc.reflection.v1alpha.ServerReflection";

/// A server that has more is not believed.
const MOST_FILES: usize = 2000;
