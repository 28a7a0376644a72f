//! Variables that control the program they are set for: its libraries, search paths and trust.

use super::Danger;

const LOADS: &str = "decides what a program loads or runs";
const FETCHES: &str = "decides where packages come from";
const TRUSTS: &str = "decides where its traffic goes, or whom it trusts";
const FINDS: &str = "decides which programs and settings it finds";

/// The variables by the prefix of their names, in upper case.
const PREFIXES: &[(&str, &str)] = &[
    ("LD_", LOADS),
    ("DYLD_", LOADS),
    ("BASH_FUNC_", LOADS),
    ("GIT_", LOADS),
    ("CORECLR_", LOADS),
    ("COR_", LOADS),
    ("COMPLUS_", LOADS),
    ("NPM_CONFIG_", FETCHES),
    ("YARN_", FETCHES),
    ("PNPM_", FETCHES),
    ("BUN_CONFIG_", FETCHES),
    ("PIP_", FETCHES),
    ("PIPX_", FETCHES),
    ("UV_", FETCHES),
    ("NUGET_", FETCHES),
    ("BUNDLE_", FETCHES),
    ("CARGO_", FETCHES),
];

const NAMES: &[(&[&str], &str)] = &[
    (
        &[
            "NODE_OPTIONS",
            "NODE_PATH",
            "NODE_REPL_EXTERNAL_MODULE",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "PYTHONHOME",
            "PYTHONINSPECT",
            "PYTHONBREAKPOINT",
            "PYTHONUSERBASE",
            "PYTHONWARNINGS",
            "PYTHONEXECUTABLE",
            "PYTHONPLATLIBDIR",
            "PYTHONPYCACHEPREFIX",
            "BASH_ENV",
            "ENV",
            "SHELLOPTS",
            "BASHOPTS",
            "PS4",
            "PROMPT_COMMAND",
            "ZDOTDIR",
            "IFS",
            "PERL5LIB",
            "PERL5OPT",
            "PERLLIB",
            "PERL5DB",
            "RUBYOPT",
            "RUBYLIB",
            "GEM_HOME",
            "GEM_PATH",
            "JAVA_TOOL_OPTIONS",
            "_JAVA_OPTIONS",
            "JDK_JAVA_OPTIONS",
            "CLASSPATH",
            "DOTNET_STARTUP_HOOKS",
            "DOTNET_ADDITIONAL_DEPS",
            "DOTNET_SHARED_STORE",
            "LUA_INIT",
            "LUA_PATH",
            "LUA_CPATH",
            "PHPRC",
            "PHP_INI_SCAN_DIR",
            "R_PROFILE",
            "R_PROFILE_USER",
            "JULIA_LOAD_PATH",
            "GCONV_PATH",
            "LOCPATH",
            "GLIBC_TUNABLES",
            "EDITOR",
            "VISUAL",
            "PAGER",
            "MANPAGER",
            "BROWSER",
            "LESSOPEN",
            "LESSCLOSE",
            "SSH_ASKPASS",
            "SUDO_ASKPASS",
            "RUSTC_WRAPPER",
            "RUSTFLAGS",
            "GOFLAGS",
            "MAKEFLAGS",
            "DENO_DIR",
            "OPENSSL_CONF",
            "OPENSSL_MODULES",
            "QT_PLUGIN_PATH",
            "GTK_MODULES",
            "TCLLIBPATH",
            "ELECTRON_RUN_AS_NODE",
        ],
        LOADS,
    ),
    (&["GOPROXY", "GONOSUMDB", "GOSUMDB", "HF_ENDPOINT"], FETCHES),
    (
        &[
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "SSL_CERT_FILE",
            "SSL_CERT_DIR",
            "CURL_CA_BUNDLE",
            "REQUESTS_CA_BUNDLE",
            "NODE_EXTRA_CA_CERTS",
            "NODE_TLS_REJECT_UNAUTHORIZED",
            "PYTHONHTTPSVERIFY",
            "DOCKER_HOST",
            "DOCKER_CONFIG",
            "DOCKER_CONTEXT",
            "CONTAINER_HOST",
            "KUBECONFIG",
            "HOSTALIASES",
            "RES_OPTIONS",
            "SSLKEYLOGFILE",
            "SSH_AUTH_SOCK",
        ],
        TRUSTS,
    ),
    (
        &[
            "PATH",
            "PATHEXT",
            "HOME",
            "USERPROFILE",
            "SHELL",
            "COMSPEC",
            "XDG_CONFIG_HOME",
            "XDG_DATA_HOME",
            "XDG_CONFIG_DIRS",
        ],
        FINDS,
    ),
];

pub(super) fn danger(name: &str) -> Option<Danger> {
    let capitals = name.to_ascii_uppercase();
    let reason = reason_by_prefix(&capitals).or_else(|| reason_by_name(&capitals))?;
    Some(Danger::new(name, reason))
}

fn reason_by_prefix(capitals: &str) -> Option<&'static str> {
    let mut found = PREFIXES.iter();
    let (_, reason) = found.find(|(begin, _)| capitals.starts_with(begin))?;
    Some(reason)
}

fn reason_by_name(capitals: &str) -> Option<&'static str> {
    let mut found = NAMES.iter();
    let (_, reason) = found.find(|(names, _)| names.contains(&capitals))?;
    Some(reason)
}
