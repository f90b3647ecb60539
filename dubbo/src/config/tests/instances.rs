use super::*;

#[test]
fn labels_are_a_map_a_text_or_variables() {
    let of = |text: &str, variables: &[(&str, &str)]| {
        let environment: Environment = variables.iter().copied().collect();
        let options = LoadOptions::text("t.yaml", text).environment(environment);
        match load(&options, &linked()) {
            Ok(loaded) => {
                let labels = loaded.config.labels.iter();
                labels
                    .map(|(label, value)| format!("{label}={value}"))
                    .collect::<Vec<_>>()
                    .join(" ")
            }
            Err(errors) => errors.to_string(),
        }
    };
    for (text, variables, want) in [
        (
            "dubbo: {labels: {zone: east, note: 'a;b'}}",
            &[][..],
            "note=a;b zone=east",
        ),
        (
            "dubbo: {labels: 'zone=east; expr=a=b;'}",
            &[],
            "expr=a=b zone=east",
        ),
        (
            "dubbo: {labels: {zone: east}}",
            &[("DUBBO_LABELS", "zone=west;rack=r7")],
            "rack=r7 zone=west",
        ),
        ("", &[("DUBBO_LABELS", "zone=west")], "zone=west"),
        (
            "dubbo: {env: {keys: [POD_NAME, ABSENT]}}",
            &[("POD_NAME", "order-7")],
            "POD_NAME=order-7 pod_name=order-7",
        ),
        (
            "dubbo: {labels: {rack: r1}, env: {keys: POD_NAME}}",
            &[
                ("DUBBO_ENV_KEYS", "rack,ZONE"),
                ("rack", "r2"),
                ("ZONE", "a"),
                ("POD_NAME", "p"),
            ],
            "ZONE=a rack=r2 zone=a",
        ),
        (
            "",
            &[("DUBBO_LABELS", "zone")],
            "environment variable DUBBO_LABELS: dubbo.labels: the label `zone` has no `=`; write `name=value`, and a \
             value with `;` in it in a map",
        ),
    ] {
        assert_eq!(of(text, variables), want, "{text} {variables:?}");
    }
}

#[test]
fn what_an_instance_cannot_say_is_refused() {
    for (text, want) in [
        (
            "labels: 'zone'\n  application: {weight: 0, protocol: tree}\n  metadata: {instance-customizer: [zone, zoom]}\n  \
             registries: {a: {protocol: memory, instance-filter: far}}",
            "t.yaml:2:3: dubbo.labels: the label `zone` has no `=`; write `name=value`, and a value with `;` in it in a map\n\
             t.yaml:3:25: dubbo.application.weight: expected a whole number from 1 to 10000, found `0`\n\
             t.yaml:3:38: dubbo.application.protocol: no protocol is called `tree`; linked: injvm, tri\n\
             t.yaml:4:42: dubbo.metadata.instance-customizer: no instance customizer is called `zoom`; linked: zone\n\
             t.yaml:5:55: dubbo.registries.a.instance-filter: no instance list filter is called `far`; linked: near",
        ),
        (
            "labels: {zone: '', dubbo.endpoints: x, k: [a]}",
            "t.yaml:2:18: dubbo.labels.zone: the label `zone` has no value; write one, or leave the label out\n\
             t.yaml:2:39: dubbo.labels.dubbo.endpoints: the label `dubbo.endpoints` is written by the framework; give it another name\n\
             t.yaml:2:45: dubbo.labels.k: expected a text, found a list",
        ),
    ] {
        let report = report(&format!("dubbo:\n  {text}\n"));
        assert_eq!(report, format!("{want}\n"), "{text}");
    }
}

#[test]
fn a_filter_of_metadata_that_is_not_there_is_refused() {
    for (names, want) in [
        ("", ""),
        (" quiet, - Default,", ""),
        (
            "quiet,loud",
            "t.yaml:5:33: dubbo.provider.services.Polite.params.params-filter: no metadata params filter is called `loud`; \
             linked: quiet\n",
        ),
        (
            "-quite",
            "t.yaml:5:33: dubbo.provider.services.Polite.params.params-filter: no metadata params filter is called `quite`; \
             linked: quiet (did you mean `quiet`?)\n",
        ),
    ] {
        let text = format!(
            "dubbo:\n  provider:\n    services:\n      Polite:\n        params: {{params-filter: '{names}'}}\n"
        );
        assert_eq!(report(&text), want, "{names}");
    }
}
