use std::fmt;

/// The keys that lead to a value; by default none, for the document itself. Prints as `dubbo.provider.services.Greeter.methods[0].name`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Path(Vec<String>);

impl Path {
    /// The path of these keys, the outermost first.
    pub fn new(segments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(segments.into_iter().map(Into::into).collect())
    }

    /// The path of something directly below this one.
    pub fn join(&self, key: impl Into<String>) -> Self {
        let mut segments = self.0.clone();
        segments.push(key.into());
        Self(segments)
    }

    /// The keys, the outermost first; an item of a list counts as a key such as `[0]`.
    pub fn segments(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, segment) in self.0.iter().enumerate() {
            if index > 0 && !segment.starts_with('[') {
                f.write_str(".")?;
            }
            f.write_str(segment)?;
        }
        Ok(())
    }
}
