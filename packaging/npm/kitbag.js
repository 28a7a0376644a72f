#!/usr/bin/env node
// Runs the program from the package of this platform, as if it had been started directly.
"use strict";

const { spawn } = require("node:child_process");

const SUPPORTED = ["linux-arm64", "linux-x64"];

function findProgram() {
  const platform = `${process.platform}-${process.arch}`;
  if (!SUPPORTED.includes(platform)) {
    fail(`there is no package for ${platform}; there is one for ${SUPPORTED.join(" and ")}`);
  }
  const name = `@kitbag/${platform}`;
  try {
    return require.resolve(`${name}/bin/kitbag`);
  } catch {
    fail(`the package ${name} is missing; install again without --omit=optional or --no-optional`);
  }
}

function fail(reason) {
  console.error(`kitbag: ${reason}`);
  process.exit(1);
}

function run(program) {
  const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
  const signals = ["SIGHUP", "SIGINT", "SIGTERM"];
  for (const signal of signals) {
    process.on(signal, () => child.kill(signal));
  }
  child.on("error", (error) => fail(`cannot start ${program}: ${error.message}`));
  child.on("exit", (code, signal) => {
    if (signal === null) {
      process.exit(code);
    }
    signals.forEach((it) => process.removeAllListeners(it));
    process.kill(process.pid, signal);
  });
}

run(findProgram());
