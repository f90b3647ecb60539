//! What the server does with each request.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    answer::{Refusal, success},
    config::Config,
    instance::Instance,
    key::{ConfigKey, ConnectionId},
    limits::{Parameters, is_blank},
    naming::Publisher,
    requests::{
        Batch, ConfigPlace, ListServices, Listen, OneInstance, Place, Publish, Query, Subscribe,
    },
    state::State,
    wire::Payload,
};

/// The checks are made in the order of Nacos: is it up, does it know the type, is the connection set up, may the
/// client, are the parameters legal.
pub(super) fn answer(
    state: &mut State,
    connection: ConnectionId,
    request: &Payload,
    now: Instant,
) -> Payload {
    if state.starting {
        let text = "Server is starting,please try later.";
        return Refusal::undelivered(300, text).into_payload("");
    }
    if request.kind() == "ServerCheckRequest" {
        let id = connection.to_string();
        let fields = json!({"connectionId": id, "supportAbilityNegotiation": true});
        return success("ServerCheckResponse", fields);
    }
    let Some((kind, handle)) = handler(request.kind()) else {
        return Refusal::undelivered(302, "RequestHandler Not Found").into_payload("");
    };
    if !state.is_set_up(connection) {
        return Refusal::undelivered(301, "Connection is unregistered.").into_payload("");
    }
    if let Some(refusal) = state.take_refusal(request.kind()) {
        return refusal.into_payload(kind);
    }
    let mut context = Context {
        state,
        connection,
        now,
    };
    match handle(&mut context, request) {
        Ok(fields) => success(kind, fields),
        Err(refusal) => refusal.into_payload(kind),
    }
}

struct Context<'a> {
    state: &'a mut State,
    connection: ConnectionId,
    now: Instant,
}

type Handle = fn(&mut Context<'_>, &Payload) -> Result<Value, Refusal>;

/// The type of the answer to a type of requests, and who answers.
fn handler(request: &str) -> Option<(&'static str, Handle)> {
    Some(match request {
        "BatchInstanceRequest" => ("BatchInstanceResponse", |c, r| c.batch(r)),
        "ConfigBatchListenRequest" => ("ConfigChangeBatchListenResponse", |c, r| c.listen(r)),
        "ConfigPublishRequest" => ("ConfigPublishResponse", |c, r| c.publish(r)),
        "ConfigQueryRequest" => ("ConfigQueryResponse", |c, r| c.query_config(r)),
        "ConfigRemoveRequest" => ("ConfigRemoveResponse", |c, r| c.remove_config(r)),
        "HealthCheckRequest" => ("HealthCheckResponse", |_, _| Ok(json!({}))),
        "InstanceRequest" => ("InstanceResponse", |c, r| c.instance(r)),
        "PersistentInstanceRequest" => ("InstanceResponse", |c, r| c.persistent_instance(r)),
        "ServiceListRequest" => ("ServiceListResponse", |c, r| c.list_services(r)),
        "ServiceQueryRequest" => ("QueryServiceResponse", |c, r| c.query(r)),
        "SubscribeServiceRequest" => ("SubscribeServiceResponse", |c, r| c.subscribe(r)),
        _ => return None,
    })
}

impl Context<'_> {
    fn instance(&mut self, request: &Payload) -> Result<Value, Refusal> {
        let publisher = Publisher::Connection(self.connection);
        self.one_instance(request, |_| publisher)
    }

    fn persistent_instance(&mut self, request: &Payload) -> Result<Value, Refusal> {
        self.one_instance(request, |instance| {
            Publisher::Persistent(instance.address())
        })
    }

    fn one_instance(
        &mut self,
        request: &Payload,
        publisher: impl FnOnce(&Instance) -> Publisher,
    ) -> Result<Value, Refusal> {
        let request: OneInstance = self.parse(request)?;
        let OneInstance {
            place,
            r#type: action,
            instance,
        } = request;
        described(&instance, &place).check()?;
        named(&place)?;
        let (key, delays, now) = (place.key(), self.state.delays, self.now);
        let publisher = publisher(&instance);
        let naming = &mut self.state.naming;
        match action.as_str() {
            "registerInstance" => {
                naming.register(publisher, &key, vec![instance], now, delays)?;
            }
            "deregisterInstance" => naming.deregister(&publisher, &key, now, delays),
            _ => return Err(unsupported(&action)),
        }
        Ok(json!({"type": action}))
    }

    fn batch(&mut self, request: &Payload) -> Result<Value, Refusal> {
        let request: Batch = self.parse(request)?;
        parameters(&request.place).check()?;
        for instance in &request.instances {
            let named = Place {
                service_name: instance.service_name.clone().unwrap_or_default(),
                ..Place::default()
            };
            described(instance, &named).check()?;
        }
        named(&request.place)?;
        if request.r#type != "batchRegisterInstance" {
            return Err(unsupported(&request.r#type));
        }
        let publisher = Publisher::Connection(self.connection);
        let (key, delays) = (request.place.key(), self.state.delays);
        let naming = &mut self.state.naming;
        naming.register(publisher, &key, request.instances, self.now, delays)?;
        Ok(json!({"type": request.r#type}))
    }

    fn subscribe(&mut self, request: &Payload) -> Result<Value, Refusal> {
        let request: Subscribe = self.parse(request)?;
        let clusters = &request.clusters;
        Parameters {
            clusters,
            ..parameters(&request.place)
        }
        .check()?;
        named(&request.place)?;
        let (key, delays) = (request.place.key(), self.state.delays);
        let naming = &mut self.state.naming;
        let info = naming.query(&key, clusters, false);
        if request.wanted {
            naming.subscribe(self.connection, &key, clusters, self.now, delays);
        } else {
            naming.unsubscribe(self.connection, &key);
        }
        Ok(json!({"serviceInfo": info, "message": "success"}))
    }

    fn query(&mut self, request: &Payload) -> Result<Value, Refusal> {
        let request: Query = self.parse(request)?;
        Parameters {
            clusters: &request.cluster,
            port: request.udp_port,
            ..parameters(&request.place)
        }
        .check()?;
        let naming = &mut self.state.naming;
        let info = naming.query(&request.place.key(), &request.cluster, request.healthy_only);
        Ok(json!({"serviceInfo": info}))
    }

    fn list_services(&mut self, request: &Payload) -> Result<Value, Refusal> {
        let request: ListServices = self.parse(request)?;
        let place = &request.place;
        parameters(place).check()?;
        let (page, size) = (request.page_no, request.page_size);
        let naming = &self.state.naming;
        let (count, names) = naming.names(&place.namespace, &place.group_name, page, size)?;
        Ok(json!({"count": count, "serviceNames": names}))
    }

    fn query_config(&mut self, request: &Payload) -> Result<Value, Refusal> {
        let place: ConfigPlace = self.parse(request)?;
        config_parameters(&place).check()?;
        let config = self.state.configs.read(&place.key());
        let config = config.ok_or_else(|| Refusal::typed(300, "config data not exist"))?;
        Ok(json!({
            "content": config.content,
            "md5": config.md5,
            "contentType": config.content_type,
            "encryptedDataKey": config.encrypted_data_key,
            "lastModified": config.modified,
            "beta": false,
        }))
    }

    fn publish(&mut self, request: &Payload) -> Result<Value, Refusal> {
        let request: Publish = self.parse(request)?;
        config_parameters(&request.place).check()?;
        if is_blank(&request.content) {
            let text = format!("content is blank : {}", request.content);
            return Err(Refusal::typed(400, text));
        }
        for gray in ["betaIps", "tag"] {
            if !is_blank(request.addition(gray)) {
                let text = format!("the scripted Nacos has no configs with `{gray}`");
                return Err(Refusal::typed(500, text));
            }
        }
        let (kind, encryption) = ("type", "encryptedDataKey");
        let config = Config::new(
            &request.content,
            request.addition(kind),
            request.addition(encryption),
        );
        let (key, delays) = (request.place.key(), self.state.delays);
        let configs = &mut self.state.configs;
        configs.publish(&key, config, &request.cas_md5, self.now, delays)?;
        Ok(json!({}))
    }

    fn remove_config(&mut self, request: &Payload) -> Result<Value, Refusal> {
        let place: ConfigPlace = self.parse(request)?;
        config_parameters(&place).check()?;
        let delays = self.state.delays;
        self.state.configs.remove(&place.key(), self.now, delays);
        Ok(json!({}))
    }

    fn listen(&mut self, request: &Payload) -> Result<Value, Refusal> {
        let request: Listen = self.parse(request)?;
        for listened in &request.config_listen_contexts {
            config_parameters(&listened.place).check()?;
        }
        let mut changed = Vec::new();
        for listened in &request.config_listen_contexts {
            let place = &listened.place;
            let key = ConfigKey::exact(&place.tenant, &place.group, &place.data_id);
            let configs = &mut self.state.configs;
            if !request.listen {
                configs.unlisten(self.connection, &key);
            } else if configs.listen(self.connection, &key, &listened.md5) {
                changed.push(json!({
                    "tenant": key.namespace,
                    "group": key.group,
                    "dataId": key.data_id,
                }));
            }
        }
        Ok(json!({"changedConfigs": changed}))
    }

    /// Of a client that may ask.
    fn parse<T: DeserializeOwned>(&self, request: &Payload) -> Result<T, Refusal> {
        let parsed = request.parse();
        let parsed = parsed.map_err(|error| Refusal::undelivered(502, error.to_string()))?;
        let token = request.header("accessToken");
        self.state.auth.check(token, self.now)?;
        Ok(parsed)
    }
}

fn parameters(place: &Place) -> Parameters<'_> {
    Parameters {
        namespace: &place.namespace,
        group: &place.group_name,
        service: &place.service_name,
        ..Parameters::default()
    }
}

fn described<'a>(instance: &'a Instance, place: &'a Place) -> Parameters<'a> {
    Parameters {
        cluster: instance.cluster_name.as_deref().unwrap_or_default(),
        ip: &instance.ip,
        port: instance.port,
        metadata: Some(&instance.metadata),
        ..parameters(place)
    }
}

fn config_parameters(place: &ConfigPlace) -> Parameters<'_> {
    Parameters {
        namespace: &place.tenant,
        group: &place.group,
        data_id: &place.data_id,
        ..Parameters::default()
    }
}

/// What is blank passes the check of parameters, and fails when a name is made of it.
fn named(place: &Place) -> Result<(), Refusal> {
    let parts = [
        ("serviceName", &place.service_name),
        ("groupName", &place.group_name),
    ];
    for (name, value) in parts {
        if is_blank(value) {
            let text = format!("Param '{name}' is illegal, {name} is blank");
            return Err(Refusal::thrown(500, text));
        }
    }
    Ok(())
}

fn unsupported(action: &str) -> Refusal {
    Refusal::thrown(400, format!("Unsupported request type {action}"))
}
