// A gateway in the home of this test, and the verbs of its command line.

import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';

export const home = process.env.HOME;
const program = process.env.KITBAG;
// The built-in server would be on every page, and agents of this machine are not part of a test.
const CONFIG = '[agents]\nenabled = false\n';
const running = new Set();

process.on('exit', () => running.forEach(gateway => gateway.child.kill('SIGKILL')));

const environment = () => ({ PATH: process.env.PATH, HOME: home, COLUMNS: '200' });

// Writes the configuration of the test's user.
export function configure(text, agents = CONFIG) {
    write('.config/kitbag/kitbag.toml', `${agents}${text}`);
}

// Writes a file below the home, and returns its path.
export function write(name, text) {
    const path = join(home, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
}

// The table of a testbed; JSON strings and arrays are valid TOML.
export function testbed(name, ...args) {
    return table(name, process.env.TESTBED, ...args, 'stdio');
}

// The table of a server of `kitbag demo`.
export function demo(name) {
    return table(name, program, 'demo', 'serve', name);
}

export function table(name, command, ...args) {
    return `[servers.${name}]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\n`;
}

export async function freePort() {
    const server = createServer();
    await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address();
    await new Promise(resolve => server.close(resolve));
    return port;
}

export class Gateway {
    static async start({ port = 0, flags = [] } = {}) {
        const gateway = new Gateway();
        const args = ['serve', '--bind', `127.0.0.1:${port}`, ...flags];
        gateway.child = spawn(program, args, { env: environment(), stdio: ['ignore', 'pipe', 'pipe'] });
        running.add(gateway);
        let log = '';
        gateway.child.stderr.on('data', chunk => (log += chunk));
        for await (const line of createInterface({ input: gateway.child.stdout })) {
            const [base] = line.match(/http:\/\/127\.0\.0\.1:\d+/) ?? [];
            if (base) {
                gateway.base = base;
                gateway.child.stdout.resume();
                return gateway;
            }
        }
        throw new Error(`the gateway names no endpoint:\n${log}`);
    }

    get port() {
        return Number(new URL(this.base).port);
    }

    async kill(signal = 'SIGKILL') {
        const ended = new Promise(resolve => this.child.once('exit', resolve));
        this.child.kill(signal);
        await ended;
        running.delete(this);
    }
}

// Runs a verb; an object of expectations may allow it to fail.
export function kitbag(...words) {
    const done = spawnSync(program, words, { env: environment(), encoding: 'utf8' });
    if (done.status !== 0) {
        throw new Error(`kitbag ${words.join(' ')}: ${done.stdout}${done.stderr}`);
    }
    return done.stdout;
}

// Runs a verb that may fail, and returns its exit code.
export function attempt(...words) {
    return spawnSync(program, words, { env: environment(), encoding: 'utf8' }).status;
}

// A client with this name, in the legacy era; returns a function that calls a tool.
export async function connectClient(base, name) {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const post = async message => {
        const answer = await fetch(`${base}/mcp/all`, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
        const text = await answer.text();
        return { session: answer.headers.get('mcp-session-id'), text };
    };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name, version: '1' } };
    const { session } = await post({ id: 0, method: 'initialize', params });
    headers['mcp-session-id'] = session;
    headers['mcp-protocol-version'] = '2025-11-25';
    await post({ method: 'notifications/initialized' });
    let id = 0;
    return async (tool, args) => (await post({ id: ++id, method: 'tools/call', params: { name: tool, arguments: args } })).text;
}
