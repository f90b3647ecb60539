//! `cargo xtask browser`: the page for operators in a headless browser, with a picture of it.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::{
    failure::Failure,
    process::{self, cargo},
};

/// Looks for a browser, or installs it where that may be done, and runs the test of the page in it.
pub(crate) fn run(args: &[String]) -> Result<String, Failure> {
    if let Some(unknown) = args.first() {
        let problem = format!("browser takes no `{unknown}`");
        return Err(Failure::new(problem, "run `cargo xtask browser`"));
    }
    let browser = match installed() {
        Some(browser) => browser,
        None => install()?,
    };
    let folder = process::target_dir().join("browser");
    fs::create_dir_all(&folder).map_err(|error| {
        let problem = format!("cannot make {}: {error}", folder.display());
        Failure::new(problem, "make room for the picture of the page")
    })?;
    let picture = folder.join("page.png");
    if picture.exists() {
        // An old one would prove nothing.
        fs::remove_file(&picture).map_err(|error| {
            let problem = format!("cannot remove {}: {error}", picture.display());
            Failure::new(problem, "remove it")
        })?;
    }
    // Of the whole workspace, so that what `cargo test --workspace` has built is of use.
    let mut test = cargo(["test", "--workspace", "--test", "admin", "--"]);
    test.args(["--ignored", "--exact", TEST])
        .env("DUBBO_BROWSER", &browser)
        .env("DUBBO_SCREENSHOT", &picture);
    process::run(
        &mut test,
        "mend dubbo/src/admin/page.html, or what it shows",
    )?;
    if !picture.is_file() {
        let problem = format!("the test {TEST} has not been run: there is no picture");
        return Err(Failure::new(
            problem,
            "look for its name in dubbo/tests/admin",
        ));
    }
    Ok(format!(
        "the page was seen in {}, and looks like {}",
        browser.display(),
        picture.display()
    ))
}

/// The browser that there is.
fn installed() -> Option<PathBuf> {
    let paths = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = env::split_paths(&paths).collect();
    let all = NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    all.into_iter().find(|path| path.is_file())
}

/// Debian's, where this may install packages: `.ci/run` gets a JDK in this way, too.
fn install() -> Result<PathBuf, Failure> {
    let advice = "install Chromium: the page for operators is tested in it";
    if !Path::new("/usr/bin/apt-get").is_file() {
        return Err(Failure::new("there is no Chromium", advice));
    }
    process::run(process::program("apt-get").args(["update", "-qq"]), advice)?;
    process::run(
        process::program("apt-get")
            .args([
                "install",
                "-y",
                "-qq",
                "--no-install-recommends",
                "chromium",
            ])
            .env("DEBIAN_FRONTEND", "noninteractive"),
        advice,
    )?;
    installed().ok_or_else(|| Failure::new("there is no Chromium after it was installed", advice))
}

const NAMES: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

const TEST: &str = "browser::a_person_sees_providers_consumers_registries_breakers_and_retries";
