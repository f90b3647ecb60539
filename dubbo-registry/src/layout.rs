//! Where things stand on a server and how they are written there: what `docs/spec/registry.md` lays down for each kind.

use dubbo_core::{discovery::ServiceInstance, registry::RegistryError, url::Url};

use crate::{
    backend::{Entry, Place, TextKey},
    matching::Category,
};

/// How interface-level registration is laid out.
pub(crate) trait InterfaceLayout<V>: Send + Sync + 'static {
    /// Where `url` is shown and how. More than one when a server has several spellings that peers look for.
    ///
    /// # Errors
    ///
    /// It cannot be written there.
    fn write(&self, url: &Url, category: Category)
    -> Result<Vec<(Place, Entry<V>)>, RegistryError>;

    /// The places where what `consumer` asks for stands; its interface, group and version are no patterns here that a
    /// place depends on.
    fn places(&self, consumer: &Url) -> Vec<(Place, Category)>;

    /// The folder whose names lead to the places of `consumer`, when these depend on a pattern such as `interface=*`.
    fn folder(&self, consumer: &Url) -> Option<Place>;

    /// The places behind one `name` of the folder that `consumer` asks for; none when the name is of something else.
    fn named(&self, name: &str, consumer: &Url) -> Vec<(Place, Category)>;

    /// The URL that `entry` stands for; `None` when it is nothing of that kind.
    fn read(&self, place: &Place, entry: &Entry<V>) -> Option<Url>;
}

/// How application-level registration is laid out.
pub(crate) trait InstanceLayout<V>: Send + Sync + 'static {
    /// Where instances of `application` stand.
    ///
    /// # Errors
    ///
    /// The name is not possible there.
    fn place(&self, application: &str) -> Result<Place, RegistryError>;

    /// The folder whose names lead to the places of all applications.
    fn applications(&self) -> Place;

    /// The application behind one `name` of that folder; `None` when it is of something else.
    fn application(&self, name: &str) -> Option<String>;

    /// How `instance` is written.
    ///
    /// # Errors
    ///
    /// It cannot be written there.
    fn write(&self, instance: &ServiceInstance) -> Result<Entry<V>, RegistryError>;

    /// The instance of `application` that `entry` stands for; `None` when it is nothing of that kind.
    fn read(&self, application: &str, entry: &Entry<V>) -> Option<ServiceInstance>;
}

/// Where texts are kept (`docs/spec/registry.md` §7, §8.1). Where several keys are given, a text is written under each,
/// and read from the first that has it.
pub(crate) trait TextLayout: Send + Sync + 'static {
    /// The metadata of an application at one revision.
    fn app(&self, application: &str, revision: &str) -> Vec<TextKey>;

    /// The group whose names are the revisions of `application`; `None` where the server cannot list them.
    fn revisions(&self, application: &str) -> Option<String>;

    /// The mapping of `interface`: the first is written, all are read.
    fn mapping(&self, interface: &str) -> Vec<TextKey>;

    /// When stale metadata of `application` was last looked for.
    fn collection(&self, application: &str) -> TextKey;

    /// A service definition: `id` is `interface:version:group:side:application` with empty parts kept.
    fn definition(&self, id: &str) -> TextKey;

    /// A text of the config center.
    fn config(&self, key: &str, group: &str) -> Vec<TextKey>;
}
