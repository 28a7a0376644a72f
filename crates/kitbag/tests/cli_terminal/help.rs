//! `--help` has examples, and the examples are valid.

use clap::{Command, CommandFactory as _, Parser as _};
use kitbag::cli::Cli;

use kitbag_testkit::guide::documents;
use kitbag_testkit::home::Home;

#[test]
fn every_verb_shows_examples_that_can_be_typed() {
    every_command(&mut |command| {
        let name = command.get_bin_name().unwrap_or_default();
        let help = command
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        let examples = examples(&help);
        assert!(!examples.is_empty(), "`{name} --help` shows no Examples:");
        // Lines formatted by hand would break in the wrong column if they were wider than a terminal.
        let wide = help.lines().find(|line| line.chars().count() > 80);
        assert_eq!(wide, None, "`{name} --help` has a line that does not fit");
        let about_itself = examples
            .iter()
            .filter(|words| words.join(" ").starts_with(name));
        assert!(
            about_itself.count() > 0,
            "the examples of `{name}` are about something else"
        );
        for words in examples {
            let parsed = Cli::try_parse_from(&words);
            assert!(
                parsed.is_ok(),
                "`{name} --help` shows {words:?}: {}",
                parsed.unwrap_err()
            );
        }
    });
}

#[test]
fn help_and_examples_fit_a_terminal() {
    let home = Home::new();
    every_command(&mut |command| {
        let name = command.get_bin_name().unwrap_or_default();
        let words: Vec<&str> = name.split(' ').skip(1).chain(["--help"]).collect();
        // Nor is it wider if the terminal's width is unknown.
        let output = home.command(&words).env_remove("COLUMNS").output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success() && help.lines().all(|line| line.chars().count() <= 80),
            "{help}"
        );
    });
}

#[test]
fn every_verb_has_a_row_in_the_table_of_commands() {
    let page = &documents()["docs/commands.md"];
    let rows: String = page
        .lines()
        .filter(|line| line.starts_with("| `kitbag "))
        .collect();
    every_command(&mut |command| {
        let name = command.get_bin_name().unwrap_or_default();
        let last = name.rsplit(' ').next().unwrap_or_default();
        let spellings = [format!("`{name}"), format!("`{last}`"), format!("`{last} ")];
        let is_leaf = !command.has_subcommands();
        assert!(
            !is_leaf || spellings.iter().any(|spelling| rows.contains(spelling)),
            "docs/commands.md says nothing of `{name}`"
        );
    });
}

/// Other documents only refer to the commands with `--own`.
#[test]
fn the_commands_that_join_the_running_gateway_are_listed_in_one_place() {
    let mut joining: Vec<String> = Vec::new();
    every_command(&mut |command| {
        let name = command.get_bin_name().unwrap_or_default();
        let verb = name.trim_start_matches("kitbag ");
        // A verb stands for its subcommands, and `serve` joins as a client does.
        let is_listed = |listed: &String| verb.starts_with(&format!("{listed} "));
        let joins = command.get_arguments().any(|it| it.get_id() == "own");
        if joins && verb != "serve" && !joining.iter().any(is_listed) {
            joining.push(verb.to_owned());
        }
    });
    joining.sort();
    let page = &documents()["docs/clients.md"];
    let (_, list) = page.split_once("`--own`: ").unwrap();
    let (list, _) = list.split_once(". ").unwrap();
    let listed: Vec<&str> = list.split('`').skip(1).step_by(2).collect();
    let listed: Vec<&str> = listed
        .iter()
        .map(|it| it.trim_start_matches("kitbag "))
        .collect();
    assert_eq!(listed, joining);
}

#[test]
fn every_command_in_a_document_can_be_typed() {
    let mut parsed = 0;
    for (name, text) in documents() {
        for words in commands(&text) {
            let cli = Cli::try_parse_from(&words);
            assert!(cli.is_ok(), "{name} shows {words:?}: {}", cli.unwrap_err());
            parsed += 1;
        }
    }
    assert!(parsed >= 30, "only {parsed} commands are shown");
}

#[test]
fn a_mistyped_verb_gets_a_suggestion() {
    let home = Home::new();
    for (words, meant) in [
        (["servres"].as_slice(), "'servers'"),
        (&["servers", "lsit"], "'list'"),
        (&["imprt"], "'import'"),
        (&["call", "x", "--jsn"], "'--json'"),
    ] {
        let printed = home.run(words);
        assert_eq!(printed.code, Some(2));
        assert!(
            printed.stderr.contains(" similar ") && printed.stderr.contains(meant),
            "{}",
            printed.stderr
        );
    }
}

/// Visits all commands including `kitbag` itself, but not the `help` that clap adds.
fn every_command(look: &mut impl FnMut(&Command)) {
    fn walk(command: &Command, look: &mut impl FnMut(&Command)) {
        look(command);
        let visible = command.get_subcommands().filter(|it| !it.is_hide_set());
        visible.for_each(|it| walk(it, look));
    }
    let mut whole = Cli::command().disable_help_subcommand(true);
    whole.build();
    walk(&whole, look);
}

/// The words of each command line in a document, with continued lines joined.
fn commands(document: &str) -> Vec<Vec<String>> {
    document
        .replace("\\\n", "")
        .lines()
        .map(|line| line.trim_start_matches("$ "))
        .filter(|line| line.starts_with("kitbag "))
        .map(words)
        .collect()
}

/// The words of each command under `Examples:`, split as by a shell.
fn examples(help: &str) -> Vec<Vec<String>> {
    let lines = help.lines().skip_while(|line| *line != "Examples:").skip(1);
    let lines: Vec<&str> = lines.take_while(|line| line.starts_with("  ")).collect();
    lines
        .join("\n")
        .replace("\\\n", "")
        .lines()
        .map(words)
        .collect()
}

/// The words up to a pipe, redirection or comment.
fn words(line: &str) -> Vec<String> {
    let begin = line.find("kitbag ").unwrap_or_default();
    let end = if line[..begin].ends_with("$(") {
        line.rfind(')')
    } else {
        None
    };
    let ours = &line[begin..end.unwrap_or(line.len())];
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in ours.chars().chain([' ']) {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => (quote, word) = (Some(c), word.or_else(|| Some(String::new()))),
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    let others = words
        .iter()
        .position(|word| ["<", ">", ">>", "|", "#"].contains(&word.as_str()));
    words.truncate(others.unwrap_or(words.len()));
    words
}
