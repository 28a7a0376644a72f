// Sets up the environment of a program. It runs before the program, so the built-in objects are
// genuine here; a program that changes them later confuses only itself.
(native, params) => {
  "use strict";
  const { freeze, defineProperty, setPrototypeOf, values } = Object;
  const { Promise, Proxy, TypeError } = globalThis;

  class ToolError extends Error {
    kind = "error";
    tool = null;
    result = null;
  }
  defineProperty(ToolError.prototype, "name", { value: "ToolError" });

  // The error is created before the call, so that its stack shows the calling line.
  const search = (text, options) => native.search(new ToolError(), text, options?.limit);
  const describe = (name) => native.describe(new ToolError(), name);
  const call = (name, args) => native.call(new ToolError(), name, args);
  const member = (server, tool) => (args) => native.member(new ToolError(), server, tool, args);

  // Promises and JSON look these names up in every object.
  const isTool = (name) => typeof name === "string" && name !== "then" && name !== "toJSON";
  const branch = (child) =>
    new Proxy({ __proto__: null }, { get: (_, name) => (isTool(name) ? child(name) : undefined) });
  const tools = branch((server) => branch((tool) => member(server, tool)));

  // A property of a promise is silently `undefined`, which hides a forgotten `await`.
  const known = Object.prototype;
  const forgotten = (name) => {
    throw new TypeError(`cannot read property '${name}' of a promise`);
  };
  const get = (_, name, promise) => {
    if (name === Symbol.toPrimitive) return () => forgotten("toString");
    return typeof name === "symbol" || name in known ? Reflect.get(known, name, promise) : forgotten(name);
  };
  setPrototypeOf(Promise.prototype, new Proxy(known, { get }));

  const setTimeout = (callback, milliseconds, ...args) => {
    if (typeof callback !== "function") throw new TypeError("setTimeout needs a function");
    return native.setTimer(() => callback(...args), +milliseconds || 0);
  };
  const clearTimeout = (timer) => native.clearTimer(+timer || 0);
  const sleep = (milliseconds) =>
    new Promise((resolve) => void native.setTimer(() => resolve(), +milliseconds || 0));
  const uuid = () => native.uuid();

  const console = {};
  for (const level of ["log", "info", "warn", "error", "debug"])
    console[level] = (...args) => native.print(level, args);
  console.trace = console.dir = console.table = console.log;

  const frozen = (value) => {
    if (typeof value === "object" && value !== null) values(freeze(value)).forEach(frozen);
    return value;
  };

  const world = {
    ToolError, search, describe, call, tools, setTimeout, clearTimeout, sleep, uuid, console,
    params: frozen(params),
  };
  for (const name in world)
    defineProperty(globalThis, name, { value: world[name], writable: true, configurable: true });
}
