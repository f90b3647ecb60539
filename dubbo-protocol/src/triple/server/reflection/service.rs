//! The service, under the two names that it has had.

use std::{
    collections::HashSet,
    sync::{Arc, Weak},
};

use bytes::Bytes;
use dubbo_core::{
    codegen::ProtoJson,
    provider::Service,
    request::{Request, Response},
    status::{Code, Status},
    streaming::Streaming,
};
use futures_util::stream;
use parking_lot::Mutex;

use super::index::{FileId, Index};
use crate::{
    catalog::{Catalog, Stage},
    generated::reflection::{
        ErrorResponse, ExtensionNumberResponse, FileDescriptorResponse, ListServiceResponse,
        SERVER_REFLECTION_DESCRIPTOR, ServerReflectionRequest, ServerReflectionResponse,
        ServiceResponse, server_reflection_request::MessageRequest,
        server_reflection_response::MessageResponse, v1alpha,
    },
    triple::server::{health::ended, routes::Routes},
};

/// `grpc.reflection.v1.ServerReflection` and `grpc.reflection.v1alpha.ServerReflection` for what is in `catalog`. Their
/// messages are the same on the wire, so one implementation serves both.
pub(in crate::triple::server) fn services(catalog: &Arc<Catalog<Routes>>) -> [Service; 2] {
    let reflection = Arc::new(Reflection {
        catalog: Arc::downgrade(catalog),
        known: Mutex::default(),
    });
    [
        &*SERVER_REFLECTION_DESCRIPTOR,
        &*v1alpha::SERVER_REFLECTION_DESCRIPTOR,
    ]
    .map(|descriptor| {
        let reflection = Arc::clone(&reflection);
        Service::builder(Arc::clone(descriptor), "ServerReflection")
            .bidi_stream::<ProtoJson<ServerReflectionRequest>, ProtoJson<ServerReflectionResponse>, _, _>(
                INFO,
                move |request| std::future::ready(Arc::clone(&reflection).converse(request)),
            )
            .build()
    })
}

/// What is known of the services in one catalog, which serves this too and so is held weakly.
struct Reflection {
    catalog: Weak<Catalog<Routes>>,
    known: Mutex<Option<Known>>,
}

/// The index of certain routes: they are replaced when something is exported or unexported, never changed.
struct Known {
    routes: Weak<Routes>,
    index: Arc<Index>,
}

impl Reflection {
    fn converse(
        self: Arc<Self>,
        requests: Request<Streaming<ServerReflectionRequest>>,
    ) -> Result<Response<Streaming<ServerReflectionResponse>>, Status> {
        let conversation = Conversation {
            catalog: self.catalog.upgrade().ok_or_else(ended)?,
            reflection: self,
            requests: requests.into_message(),
            answers: Answers::default(),
        };
        Ok(Response::stream(stream::unfold(
            Some(conversation),
            |conversation| async {
                let mut conversation = conversation?;
                match conversation.next().await {
                    Ok(Some(response)) => Some((Ok(response), Some(conversation))),
                    Ok(None) => None,
                    Err(status) => Some((Err(status), None)),
                }
            },
        )))
    }

    /// The index of what is served now. It is made when it is asked for, and kept until something else is served.
    fn index(&self, catalog: &Catalog<Routes>) -> Arc<Index> {
        let routes = catalog.routes();
        let routes = &*routes;
        let mut known = self.known.lock();
        match &*known {
            Some(known) if known.routes.as_ptr() == Arc::as_ptr(routes) => Arc::clone(&known.index),
            _ => {
                let descriptors = routes.iter().map(|route| &*route.descriptor);
                let index = Arc::new(Index::of(descriptors));
                *known = Some(Known {
                    routes: Arc::downgrade(routes),
                    index: Arc::clone(&index),
                });
                index
            }
        }
    }
}

/// One stream of questions.
struct Conversation {
    reflection: Arc<Reflection>,
    catalog: Arc<Catalog<Routes>>,
    requests: Streaming<ServerReflectionRequest>,
    answers: Answers,
}

impl Conversation {
    /// The next answer; none when there are no more questions.
    ///
    /// # Errors
    ///
    /// A request that cannot be read, or a server that drains: an open stream would hold it up.
    async fn next(&mut self) -> Result<Option<ServerReflectionResponse>, Status> {
        let request = tokio::select! {
            biased;
            request = self.requests.message() => request?,
            () = self.catalog.reached(Stage::Draining) => return Err(ended()),
        };
        Ok(request.map(|request| {
            let index = self.reflection.index(&self.catalog);
            self.answers.next(&index, request)
        }))
    }
}

/// What one stream has been told.
#[derive(Default)]
pub(in crate::triple::server) struct Answers {
    /// The files that it has had.
    told: HashSet<Bytes>,
}

impl Answers {
    /// The answer to `request`, from `index`.
    pub(in crate::triple::server) fn next(
        &mut self,
        index: &Index,
        request: ServerReflectionRequest,
    ) -> ServerReflectionResponse {
        let answer = self
            .answer(index, request.message_request.as_ref())
            .unwrap_or_else(|miss| MessageResponse::ErrorResponse(miss.into()));
        ServerReflectionResponse {
            valid_host: request.host.clone(),
            original_request: Some(request),
            message_response: Some(answer),
        }
    }

    fn answer(
        &mut self,
        index: &Index,
        asked: Option<&MessageRequest>,
    ) -> Result<MessageResponse, Miss> {
        match asked {
            Some(MessageRequest::FileByFilename(name)) => {
                let file = index.file_named(name);
                self.file(index, file, || format!("there is no file `{name}`"))
            }
            Some(MessageRequest::FileContainingSymbol(symbol)) => {
                let file = index.file_of_symbol(symbol);
                self.file(index, file, || {
                    if index.services().contains(symbol) {
                        format!("the service `{symbol}` is not described by a proto file")
                    } else {
                        format!("there is no symbol `{symbol}`")
                    }
                })
            }
            Some(MessageRequest::FileContainingExtension(extension)) => {
                let (message, number) = (&extension.containing_type, extension.extension_number);
                let file = index.file_of_extension(message, number);
                self.file(index, file, || {
                    format!("there is no extension {number} of `{message}`")
                })
            }
            Some(MessageRequest::AllExtensionNumbersOfType(message)) => {
                let numbers = index
                    .extensions_of(message)
                    .ok_or_else(|| Miss::not_found(format!("there is no message `{message}`")))?;
                Ok(MessageResponse::AllExtensionNumbersResponse(
                    ExtensionNumberResponse {
                        base_type_name: message.clone(),
                        extension_number: numbers,
                    },
                ))
            }
            Some(MessageRequest::ListServices(_)) => {
                let names = index.services().iter().cloned();
                Ok(MessageResponse::ListServicesResponse(ListServiceResponse {
                    service: names.map(|name| ServiceResponse { name }).collect(),
                }))
            }
            None => Err(Miss {
                code: Code::InvalidArgument,
                text: "the request asks for nothing that is known here".to_owned(),
            }),
        }
    }

    /// A file with its imports, but for imports that this stream has had.
    fn file(
        &mut self,
        index: &Index,
        file: Option<FileId>,
        miss: impl FnOnce() -> String,
    ) -> Result<MessageResponse, Miss> {
        let file = file.ok_or_else(|| Miss::not_found(miss()))?;
        let mut files = Vec::new();
        for encoded in index.with_imports(file) {
            let is_new = self.told.insert(encoded.clone());
            if is_new || files.is_empty() {
                files.push(encoded.clone());
            }
        }
        Ok(MessageResponse::FileDescriptorResponse(
            FileDescriptorResponse {
                file_descriptor_proto: files,
            },
        ))
    }
}

/// Why a question has no answer. The stream goes on.
struct Miss {
    code: Code,
    text: String,
}

impl Miss {
    fn not_found(text: String) -> Self {
        Self {
            code: Code::NotFound,
            text,
        }
    }
}

impl From<Miss> for ErrorResponse {
    fn from(miss: Miss) -> Self {
        Self {
            error_code: i32::try_from(miss.code.number()).expect("invariant: codes are small"),
            error_message: miss.text,
        }
    }
}

/// The position of the one method.
const INFO: usize = 0;
