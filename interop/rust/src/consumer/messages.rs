//! A message with every kind of field.

