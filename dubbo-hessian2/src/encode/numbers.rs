//! Null, booleans, numbers and dates (`docs/spec/hessian2.md` §2).

use super::Encoder;

impl Encoder {
    /// Null.
    pub fn null(&mut self) {
        self.buffer.push(b'N');
    }

    /// A boolean.
    pub fn bool(&mut self, value: bool) {
        self.buffer.push(if value { b'T' } else { b'F' });
    }

    /// An `int` in one to five bytes; `byte` and `short` are written so too.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the ranges are checked"
    )]
    pub fn int(&mut self, value: i32) {
        match value {
            -0x10..=0x2f => self.buffer.push((0x90 + value) as u8),
            -0x800..=0x7ff => {
                self.buffer
                    .extend_from_slice(&[(0xc8 + (value >> 8)) as u8, value as u8]);
            }
            -0x4_0000..=0x3_ffff => self.buffer.extend_from_slice(&[
                (0xd4 + (value >> 16)) as u8,
                (value >> 8) as u8,
                value as u8,
            ]),
            _ => self.tagged(b'I', value.to_be_bytes()),
        }
    }

    /// A `long` in one to nine bytes.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the ranges are checked"
    )]
    pub fn long(&mut self, value: i64) {
        match value {
            -8..=15 => self.buffer.push((0xe0 + value) as u8),
            -0x800..=0x7ff => {
                self.buffer
                    .extend_from_slice(&[(0xf8 + (value >> 8)) as u8, value as u8]);
            }
            -0x4_0000..=0x3_ffff => self.buffer.extend_from_slice(&[
                (0x3c + (value >> 16)) as u8,
                (value >> 8) as u8,
                value as u8,
            ]),
            _ => match i32::try_from(value) {
                Ok(value) => self.tagged(b'Y', value.to_be_bytes()),
                Err(_) => self.tagged(b'L', value.to_be_bytes()),
            },
        }
    }

    /// A `double` in one, two, three, five or nine bytes, read back bit for bit by Java and by dubbo-go.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "out of range saturates, and is compared afterwards"
    )]
    pub fn double(&mut self, value: f64) {
        let same = |other: f64| other.to_bits() == value.to_bits();
        let integer = value as i16;
        if same(f64::from(integer)) {
            return match integer {
                0 => self.buffer.push(0x5b),
                1 => self.buffer.push(0x5c),
                _ => match i8::try_from(integer) {
                    Ok(byte) => self.tagged(0x5d, byte.to_be_bytes()),
                    Err(_) => self.tagged(0x5e, integer.to_be_bytes()),
                },
            };
        }
        // Java multiplies and dubbo-go divides, and the results may differ in the last bit.
        let thousandths = (value * 1000.0) as i32;
        if same(0.001 * f64::from(thousandths)) && same(f64::from(thousandths) / 1000.0) {
            self.tagged(0x5f, thousandths.to_be_bytes());
        } else {
            self.tagged(b'D', value.to_bits().to_be_bytes());
        }
    }

    /// A `float` as Java's boxed `Float` and its `float` fields of an object: through its decimal text, so that 1.1
    /// stays 1.1. The elements of a `float[]` are widened instead, which is `double(f64::from(value))`.
    pub fn float(&mut self, value: f32) {
        self.double(decimal(value));
    }

    /// A point in time, in milliseconds since 1970.
    pub fn date(&mut self, milliseconds: i64) {
        let minutes = i32::try_from(milliseconds / 60_000);
        match minutes {
            Ok(minutes) if milliseconds % 60_000 == 0 => self.tagged(0x4b, minutes.to_be_bytes()),
            _ => self.tagged(0x4a, milliseconds.to_be_bytes()),
        }
    }

    pub(super) fn tagged<const N: usize>(&mut self, lead: u8, bytes: [u8; N]) {
        self.buffer.push(lead);
        self.buffer.extend_from_slice(&bytes);
    }
}

/// The double that is written as `value` is.
fn decimal(value: f32) -> f64 {
    use std::io::Write;

    let wide = f64::from(value);
    if wide.fract() == 0.0 && wide.abs() < EXACT_INTEGERS || !wide.is_finite() {
        return wide;
    }
    let mut text = [0; 32];
    let mut free = text.as_mut_slice();
    write!(free, "{value:e}")
        .expect("invariant: the shortest text of a float has at most 15 bytes");
    let unused = free.len();
    let written = text.len() - unused;
    str::from_utf8(&text[..written])
        .ok()
        .and_then(|text| text.parse().ok())
        .expect("invariant: the text of a number is one")
}

/// Below this, each integer has one float, and its text is its own.
const EXACT_INTEGERS: f64 = 16_777_216.0;

#[cfg(test)]
mod tests {
    use crate::Encoder;

    fn written(write: impl FnOnce(&mut Encoder)) -> Vec<u8> {
        let mut encoder = Encoder::new();
        write(&mut encoder);
        encoder.into_bytes()
    }

    #[test]
    fn a_double_is_short_only_where_both_peers_read_it_back() {
        for (value, length) in [
            (0.0, 1),
            (-0.0, 9),
            (1.0, 1),
            (-128.0, 2),
            (128.0, 3),
            (-32768.0, 3),
            (32768.0, 5),
            (12.25, 5),
            (2_147_483.647, 5),
            (2_147_483.648, 9),
            // 0.001 * 9 is another number, and so is 1009 / 1000 as a product.
            (0.009, 9),
            (1.0e10, 9),
            (f64::MIN_POSITIVE, 9),
            (f64::INFINITY, 9),
        ] {
            assert_eq!(
                written(|encoder| encoder.double(value)).len(),
                length,
                "{value}"
            );
        }
        for thousandths in -100_000..100_000 {
            let value = f64::from(thousandths) / 1000.0;
            if written(|encoder| encoder.double(value))[0] == 0x5f {
                let product = 0.001 * f64::from(thousandths);
                assert_eq!(product.to_bits(), value.to_bits(), "{value}");
            }
        }
        let nan = f64::from_bits(0x7ff8_0000_0000_0001);
        assert_eq!(
            written(|encoder| encoder.double(nan)),
            b"D\x7f\xf8\0\0\0\0\0\x01"
        );
    }

    #[test]
    fn a_float_is_written_as_the_double_of_its_text() {
        for value in [
            0.1,
            1.1,
            -3.3,
            1.0e-45,
            f32::MAX,
            f32::MIN_POSITIVE,
            16_777_217.0,
            1.0e20,
        ] {
            let double: f64 = value.to_string().parse().expect("a number");
            let expected = written(|encoder| encoder.double(double));
            assert_eq!(written(|encoder| encoder.float(value)), expected, "{value}");
        }
        assert_eq!(written(|encoder| encoder.float(f32::NAN))[0], b'D');
        assert_eq!(
            written(|encoder| encoder.float(-0.0)),
            b"D\x80\0\0\0\0\0\0\0"
        );
    }

    #[test]
    fn a_date_is_short_on_a_minute_that_an_int_can_count() {
        let last = i64::from(i32::MAX) * 60_000;
        for (milliseconds, lead) in [
            (0, 0x4b),
            (-60_000, 0x4b),
            (1, 0x4a),
            (-1, 0x4a),
            (last, 0x4b),
            (last + 60_000, 0x4a),
            (i64::MIN, 0x4a),
            (i64::MAX, 0x4a),
        ] {
            let bytes = written(|encoder| encoder.date(milliseconds));
            assert_eq!(bytes[0], lead, "{milliseconds}");
        }
    }
}
