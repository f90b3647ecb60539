//! Runs scripts, within limits.
//!
//! Each thread has an engine of its own for each script that it runs, so callers never wait for one another. The first
//! call of a thread makes it. An engine whose script failed is thrown away, and with it whatever the script did to it.

use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    fmt,
    rc::Rc,
    sync::{Arc, Weak},
    time::Duration,
};

use dubbo_core::{
    attachments::AttachmentValue,
    cluster::{Candidates, NodeList},
    invocation::Invocation,
};
use rquickjs::{
    CatchResultExt as _, Context, Ctx, FromJs, Function, Object, Persistent, Runtime, Value,
    context::EvalOptions,
};

use super::{super::call, Rule};

/// Says what is wrong with the text of a script, without running it.
pub(super) fn check(script: &str) -> Result<(), String> {
    let limits = Limits::default();
    let runtime = runtime(&limits)?;
    let context = Context::full(&runtime).map_err(told)?;
    limits.within(|| context.with(|ctx| compile(&ctx, script).map(drop)))
}

/// The places in the list of those that the script of `rule` keeps, rising.
pub(super) fn run(
    rule: &Arc<Rule>,
    candidates: &Candidates,
    invocation: &Invocation,
) -> Result<Vec<u32>, String> {
    ENGINES.with_borrow_mut(|engines| {
        let known = engines
            .iter()
            .position(|(of, _)| of.as_ptr() == Arc::as_ptr(rule));
        let (of, engine) = if let Some(at) = known {
            engines.swap_remove(at)
        } else {
            engines.retain(|(of, _)| of.strong_count() > 0);
            (Arc::downgrade(rule), Engine::new(&rule.script)?)
        };
        let places = engine.run(candidates, invocation)?;
        engines.push((of, engine));
        Ok(places)
    })
}

thread_local! {
    static ENGINES: RefCell<Vec<(Weak<Rule>, Engine)>> = const { RefCell::new(Vec::new()) };
}

/// One script, ready to run.
struct Engine {
    /// Dropped before what it belongs to.
    route: Persistent<Function<'static>>,
    context: Context,
    limits: Limits,
    list: Rc<RefCell<Option<Arc<NodeList>>>>,
}

impl Engine {
    fn new(script: &str) -> Result<Self, String> {
        let limits = Limits::default();
        let list = Rc::new(RefCell::new(None));
        let runtime = runtime(&limits)?;
        let context = Context::full(&runtime).map_err(told)?;
        let route = limits.within(|| {
            context.with(|ctx| {
                let prepare = || -> rquickjs::Result<Function<'_>> {
                    let of_node = of_nodes(&ctx, Rc::clone(&list))?;
                    let prelude: Function<'_> = ctx.eval(PRELUDE)?;
                    prelude.call((of_node,))
                };
                let prelude = prepare().catch(&ctx).map_err(told)?;
                let script = compile(&ctx, script)?;
                let route: rquickjs::Result<Function<'_>> = prelude.call((script,));
                let route = route.catch(&ctx).map_err(told)?;
                Ok(Persistent::save(&ctx, route))
            })
        })?;
        Ok(Self {
            route,
            context,
            limits,
            list,
        })
    }

    fn run(&self, candidates: &Candidates, invocation: &Invocation) -> Result<Vec<u32>, String> {
        let places: Vec<_> = candidates.places().collect();
        self.list.replace(Some(Arc::clone(candidates.list())));
        let result = self.limits.within(|| {
            self.context.with(|ctx| {
                let run = || -> rquickjs::Result<Vec<u32>> {
                    let attachments = Object::new(ctx.clone())?;
                    for (name, value) in invocation.attachments.iter() {
                        if let AttachmentValue::Text(text) = value {
                            attachments.set(&*name, &*text)?;
                        }
                    }
                    let arguments: Vec<_> = (0..call::count(invocation))
                        .map(|at| call::argument(invocation, at).map(Cow::into_owned))
                        .collect();
                    let route = self.route.clone().restore(&ctx)?;
                    let service = invocation.service.interface();
                    let method = call::method(invocation);
                    route.call((places.clone(), service, method, attachments, arguments))
                };
                run().catch(&ctx).map_err(told)
            })
        });
        // A list that is not there any more must not be kept by threads that call nobody.
        self.list.replace(None);
        let mut kept = result?;
        kept.sort_unstable();
        kept.dedup();
        Ok(kept)
    }
}

/// What stops a script.
#[derive(Clone, Default)]
struct Limits(Rc<Cell<Option<Left>>>);

#[derive(Clone, Copy)]
struct Left {
    asked: Clock,
    time: Duration,
    ticks: u32,
}

#[expect(
    clippy::disallowed_types,
    reason = "scripts take real time, whatever tests do to the clock"
)]
type Clock = std::time::Instant;

impl Limits {
    /// Runs `work` with a budget of its own, and says so when it is spent.
    fn within<T>(&self, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
        self.0.set(Some(Left {
            asked: Clock::now(),
            time: TIME,
            ticks: STEPS / STEPS_PER_TICK,
        }));
        let result = work();
        match self.0.take() {
            Some(_) => result,
            None => Err(format!(
                "it was stopped after {STEPS} steps or {} ms",
                TIME.as_millis()
            )),
        }
    }

    /// Whether to stop now: the engine asks every [`STEPS_PER_TICK`] steps.
    fn are_spent(&self) -> bool {
        let left = self.0.get().and_then(|left| {
            let now = Clock::now();
            // So few steps take less than that; in the rest of the time another thread had the processor.
            let taken = (now - left.asked).min(LONGEST_TICK);
            Some(Left {
                asked: now,
                time: left.time.checked_sub(taken)?,
                ticks: left.ticks.checked_sub(1)?,
            })
        });
        self.0.set(left);
        left.is_none()
    }
}

fn runtime(limits: &Limits) -> Result<Runtime, String> {
    let runtime = Runtime::new().map_err(told)?;
    runtime.set_memory_limit(MEMORY);
    runtime.set_max_stack_size(STACK);
    let limits = limits.clone();
    runtime.set_interrupt_handler(Some(Box::new(move || limits.are_spent())));
    Ok(runtime)
}

/// The script as a function of `invokers`, `invocation` and `context`.
///
/// dubbo-go takes an expression, such as a function that is called where it stands; Dubbo Java takes statements, and the
/// value of the last one.
fn compile<'js>(ctx: &Ctx<'js>, script: &str) -> Result<Function<'js>, String> {
    let expression = script.trim().trim_end_matches(';');
    let expression = format!("({PARAMETERS} => {{ return ({expression}\n); }})");
    if let Ok(function) = eval::<Function<'_>>(ctx, expression).catch(ctx) {
        return Ok(function);
    }
    // Only to hear what is wrong with it: nothing of it runs.
    let read = eval::<Value<'_>>(ctx, format!("if (false) {{{script}\n}}"));
    read.catch(ctx).map_err(told)?;
    let statements = format!("(script => {PARAMETERS} => eval(script))");
    let wrap = || eval::<Function<'_>>(ctx, statements)?.call((script,));
    wrap().catch(ctx).map_err(told)
}

/// The first line of an error: the others are where in the engine it was.
fn told(error: impl fmt::Display) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

/// Runs a text that need not keep to what strict code is: scripts set what cannot be set, and mean nothing by it.
fn eval<'js, V: FromJs<'js>>(ctx: &Ctx<'js>, text: String) -> rquickjs::Result<V> {
    let mut options = EvalOptions::default();
    options.strict = false;
    ctx.eval_with_options(text, options)
}

/// What scripts ask of providers, by their place in the list: a part of the address, or a parameter.
fn of_nodes<'js>(
    ctx: &Ctx<'js>,
    list: Rc<RefCell<Option<Arc<NodeList>>>>,
) -> rquickjs::Result<Function<'js>> {
    Function::new(
        ctx.clone(),
        move |place: usize, what: String, key: String| {
            let list = list.borrow();
            let url = &list.as_ref()?.get(place)?.said;
            match what.as_str() {
                "address" => Some(url.address()),
                "host" => Some(url.host().to_owned()),
                "param" => url.param(&key).map(str::to_owned),
                "path" => Some(url.path().to_owned()),
                "port" => url.port().map(|port| port.to_string()),
                "protocol" => Some(url.protocol().to_owned()),
                _ => None,
            }
        },
    )
}

const PARAMETERS: &str = "(invokers, invocation, context)";

/// What scripts find there.
const PRELUDE: &str = include_str!("prelude.js");

/// How long one run may take.
const TIME: Duration = Duration::from_millis(5);

/// How much of it the steps between two questions take at most.
const LONGEST_TICK: Duration = Duration::from_millis(2);

/// How many steps one run may have.
const STEPS: u32 = 1_000_000;

/// How many steps the engine takes until it asks whether to go on.
const STEPS_PER_TICK: u32 = 10_000;

/// How many bytes an engine may hold.
const MEMORY: usize = 8 << 20;

/// How many bytes of stack it may take: worker threads have two megabytes.
const STACK: usize = 256 << 10;
