//! `java.util.Calendar`.

use super::{ClassName, Date, InvalidValue, object::java_object};

/// A moment on some calendar; its zone does not travel.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Calendar {
    /// The moment.
    pub date: Date,
    /// The class of the calendar; none is `java.util.GregorianCalendar`.
    pub class: Option<ClassName>,
}

impl From<Date> for Calendar {
    fn from(date: Date) -> Self {
        Self { date, class: None }
    }
}

java_object! {
    Calendar,
    java "java.util.Calendar",
    class "com.alibaba.com.caucho.hessian.io.CalendarHandle" { date: Date = "date", class: Option<ClassName> = "type" }
    parts |calendar| (calendar.date, calendar.class.clone()),
    build |date, class| Ok::<_, InvalidValue>(Self { date, class }),
    other |decoder| Date::decode(decoder).map(Self::from),
}
