//! The method of the interop service that is called.

use dubbo::Status;

/// Answers with what it is given.
#[dubbo::service(interface = "org.apache.dubbo.interop.UserService")]
pub trait PingService {
    /// Gives `data` back.
    async fn ping(&self, data: Vec<u8>) -> Result<Vec<u8>, Status>;
}
