//! The last minutes: what was counted since the beginning is written down from time to time, and a window is the difference
//! to an earlier note. So the call path knows nothing of windows.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

use crate::config::AggregationConfig;

/// How long a window is and in how many steps it moves on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(super) steps: usize,
    pub(super) length: Duration,
    /// Whether the numbers `…_aggregate` are shown.
    pub(super) aggregates: bool,
}

impl Window {
    pub(crate) fn of(config: &AggregationConfig) -> Self {
        let seconds = config.time_window_seconds.unwrap_or(SECONDS);
        Self {
            steps: config.bucket_num.unwrap_or(STEPS) as usize,
            length: Duration::from_secs(seconds.into()),
            aggregates: config.enabled.unwrap_or(true),
        }
    }

    /// How long a step is.
    pub(crate) fn step(&self) -> Duration {
        let steps = u32::try_from(self.steps).unwrap_or(u32::MAX);
        self.length / steps.max(1)
    }
}

/// Earlier values of one number, the oldest first.
#[derive(Debug)]
pub(super) struct Past<S> {
    began: Instant,
    notes: VecDeque<(Instant, S)>,
}

impl<S> Past<S> {
    pub(super) fn new(began: Instant) -> Self {
        Self {
            began,
            notes: VecDeque::new(),
        }
    }

    /// Notes what it is now.
    pub(super) fn note(&mut self, now: Instant, value: S, window: Window) {
        if self.notes.len() == window.steps {
            self.notes.pop_front();
        }
        self.notes.push_back((now, value));
    }

    /// What it was when the window began, and when that was; `None` for a number that is younger than the window.
    pub(super) fn beginning(&self, window: Window) -> (Instant, Option<&S>) {
        let oldest = self.notes.front();
        match oldest.filter(|_| self.notes.len() == window.steps) {
            Some((at, value)) => (*at, Some(value)),
            None => (self.began, None),
        }
    }

    pub(super) fn notes(&self) -> impl Iterator<Item = &S> {
        self.notes.iter().map(|(_, value)| value)
    }
}

/// dubbo-go's.
const STEPS: u32 = 10;
const SECONDS: u32 = 120;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_begins_with_the_number_and_then_moves_on_step_by_step() {
        let window = Window {
            steps: 3,
            length: Duration::from_secs(30),
            aggregates: true,
        };
        let began = Instant::now();
        let at = |step: u32| began + window.step() * step;
        let mut past = Past::new(began);
        for (step, want) in [
            (1, (0, None)),
            (2, (0, None)),
            (3, (1, Some(10))),
            (4, (2, Some(20))),
        ] {
            past.note(at(step), step * 10, window);
            let (since, value) = past.beginning(window);
            assert_eq!((since, value.copied()), (at(want.0), want.1), "{step}");
        }
    }

    #[test]
    fn what_is_not_said_is_as_in_dubbo_go() {
        let window = Window::of(&AggregationConfig::new());
        assert_eq!(
            (window.steps, window.length.as_secs(), window.aggregates),
            (10, 120, true)
        );
        assert_eq!(window.step(), Duration::from_secs(12));
        let config = AggregationConfig::new()
            .enabled(false)
            .bucket_num(4)
            .time_window_seconds(2);
        let window = Window::of(&config);
        assert_eq!(
            (window.step(), window.aggregates),
            (Duration::from_millis(500), false)
        );
    }
}
