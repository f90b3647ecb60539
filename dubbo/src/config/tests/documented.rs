use crate::config::{
    ApplicationMigrationConfig, EnvConfig, MetadataConfig, MetadataReportConfig, MigrationConfig,
    OpenApiConfig,
};

/// The keys of a section, which `Debug` shows as fields: those of a section in it with its name before them.
pub(super) fn keys(section: &impl std::fmt::Debug) -> Vec<String> {
    let text = format!("{section:#?}");
    let mut within = Vec::new();
    let mut keys = Vec::new();
    for line in text.lines().skip(1) {
        let Some((field, value)) = line.trim().split_once(": ") else {
            within.pop();
            continue;
        };
        let key = field.replace('_', "-");
        if value.ends_with(" {") {
            within.push(key);
        } else {
            let path = within.iter().chain([&key]);
            keys.push(path.map(String::as_str).collect::<Vec<_>>().join("."));
        }
    }
    keys
}

/// `docs/metadata.md` has a table for each section.
#[test]
fn every_key_about_metadata_is_on_its_page() {
    let page = include_str!("../../../../docs/metadata.md");
    let table = |heading: &str| {
        let mut sections = page.split("\n### ");
        let section = sections.find(|section| section.starts_with(heading));
        section.unwrap_or_else(|| panic!("there is no section {heading:?}"))
    };
    for (heading, prefix, keys) in [
        ("`metadata`\n", "", keys(&MetadataConfig::new())),
        (
            "`metadata-report`\n",
            "",
            keys(&MetadataReportConfig::new()),
        ),
        ("`labels` and `env`", "env.", keys(&EnvConfig::new())),
        ("`migration`\n", "", keys(&MigrationConfig::new())),
        (
            "`migration`\n",
            "application.migration.",
            keys(&ApplicationMigrationConfig::new()),
        ),
        (
            "`protocols.<id>.triple.openapi`",
            "",
            keys(&OpenApiConfig::new()),
        ),
    ] {
        assert!(!keys.is_empty(), "{heading:?}");
        for key in keys {
            // The one key that stands in a section of its own.
            let key = key.replace("file-enable", "migration-file.enable");
            let named = format!("`{prefix}{key}`");
            let in_row = |row: &str| row.starts_with("| ") && row.contains(&named);
            let named_param = format!("`{key}`:");
            let as_params = |row: &str| row.starts_with("| ") && row.contains(&named_param);
            let mut rows = table(heading).lines();
            assert!(
                rows.any(|row| in_row(row) || as_params(row)),
                "{named} is in no row of {heading:?}"
            );
        }
    }
}

#[test]
fn the_keys_of_a_section_are_found_with_those_of_the_sections_in_it() {
    let keys = keys(&MetadataConfig::new());
    for key in ["token", "rate-limit", "cache.path"] {
        assert!(keys.contains(&key.to_owned()), "{key} in {keys:?}");
    }
}
