//! Who may ask (`docs/spec/nacos-2.5.1.md` §6).

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;

use super::answer::Refusal;

/// Users and the tokens that they have. Off unless [`require`](Self::require) was called.
#[derive(Debug, Default)]
pub(super) struct Auth {
    required: Option<Users>,
    /// Tokens outlive a crash: Nacos signs them and keeps none.
    tokens: BTreeMap<String, Instant>,
}

#[derive(Debug)]
struct Users {
    passwords: BTreeMap<String, String>,
    ttl: Duration,
}

/// What a login gives.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Login {
    pub(super) token: String,
    pub(super) ttl: Duration,
}

impl Auth {
    pub(super) fn require(&mut self, users: &[(&str, &str)], ttl: Duration) {
        let users = users.iter();
        let users = users.map(|(user, password)| ((*user).to_owned(), (*password).to_owned()));
        self.required = Some(Users {
            passwords: users.collect(),
            ttl,
        });
    }

    /// The error is an HTTP status and text.
    pub(super) fn login(
        &mut self,
        user: &str,
        password: &str,
        now: Instant,
    ) -> Result<Login, (u16, String)> {
        let Some(users) = &self.required else {
            return Ok(Login {
                token: "AUTH_DISABLED".to_owned(),
                ttl: DEFAULT_TTL,
            });
        };
        if user.is_empty() {
            return Err((403, NO_USER.to_owned()));
        }
        match users.passwords.get(user) {
            None => Err((500, format!("caused: User {user} not found;"))),
            Some(right) if right != password => Err((403, NO_USER.to_owned())),
            Some(_) => {
                let token = format!("token-{}-of-{user}", self.tokens.len() + 1);
                self.tokens.insert(token.clone(), now + users.ttl);
                Ok(Login {
                    token,
                    ttl: users.ttl,
                })
            }
        }
    }

    pub(super) fn check(&self, token: Option<&str>, now: Instant) -> Result<(), Refusal> {
        if self.required.is_none() {
            return Ok(());
        }
        let why = match token.map(|token| self.tokens.get(token)) {
            None => NO_USER,
            Some(None) => "token invalid!",
            Some(Some(end)) if *end <= now => "token expired!",
            Some(Some(_)) => return Ok(()),
        };
        Err(Refusal::typed(403, why))
    }
}

const NO_USER: &str = "user not found!";
const DEFAULT_TTL: Duration = Duration::from_hours(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_for_its_time() {
        let (mut auth, now) = (Auth::default(), Instant::now());
        assert_eq!(auth.check(None, now), Ok(()), "off");
        let ttl = Duration::from_secs(12);
        auth.require(&[("nacos", "secret")], ttl);
        let login = auth.login("nacos", "secret", now).expect("right");
        let refused = |why| Err(Refusal::typed(403, why));
        for (token, when, want) in [
            (None, now, refused("user not found!")),
            (Some("x"), now, refused("token invalid!")),
            (Some(&*login.token), now, Ok(())),
            (Some(&*login.token), now + ttl, refused("token expired!")),
        ] {
            assert_eq!(auth.check(token, when), want, "{token:?}");
        }
    }

    #[test]
    fn a_failed_login_says_what_nacos_says() {
        let mut auth = Auth::default();
        auth.require(&[("nacos", "secret")], DEFAULT_TTL);
        for (user, password, status, text) in [
            ("nacos", "wrong", 403, "user not found!"),
            ("", "", 403, "user not found!"),
            ("nobody", "x", 500, "caused: User nobody not found;"),
        ] {
            let failed = auth.login(user, password, Instant::now());
            assert_eq!(failed, Err((status, text.to_owned())), "{user}");
        }
    }
}
