//! Whole migrations, with registries and a config center that say what a test has them say, on a paused clock.

mod acceptance;
mod estate;
mod load;
mod metered;
mod sources;
