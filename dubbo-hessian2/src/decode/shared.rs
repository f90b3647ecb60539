//! Values that are read once and shared, by whatever handle.

use std::{any::Any, sync::Arc};

use super::{Decoder, Kind, REFERENCE};
use crate::DecodeError;

impl Decoder<'_> {
    /// A value by a handle `H`: the same for each reference to it. `back` makes the handle for references from within,
    /// out of a cell that `read` fills.
    pub(crate) fn shared<H, C>(
        &mut self,
        read: impl FnOnce(&mut Self, &Arc<C>) -> Result<H, DecodeError>,
        back: impl FnOnce(Arc<C>) -> H,
    ) -> Result<H, DecodeError>
    where
        H: Any + Clone + Send + Sync,
        C: Any + Default + Send + Sync,
    {
        let lead = self.lead()?;
        let cell = Arc::<C>::default();
        if lead != REFERENCE
            && !matches!(self.kind_of(lead)?, Kind::List | Kind::Map | Kind::Object)
        {
            return read(self, &cell);
        }
        let start = self.position;
        let mut jumped = None;
        let index = if lead == REFERENCE {
            let index = self.reference()?;
            if let Some(handle) = self.made.handle(index) {
                return Ok(handle);
            }
            jumped = Some(self.jump(index, start)?);
            index
        } else {
            let index = self.references.cursor();
            if self.was_read().is_some()
                && let Some(handle) = self.made.handle(index)
            {
                self.pass(index);
                return Ok(handle);
            }
            index
        };
        self.made.set_handle(index, back(Arc::clone(&cell)));
        let handle = read(self, &cell)?;
        self.made.set_handle(index, handle.clone());
        self.resume(jumped);
        Ok(handle)
    }
}
