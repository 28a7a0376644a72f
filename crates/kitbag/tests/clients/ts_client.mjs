// Drives the official TypeScript client, one JSON step per line on stdin, one JSON event per line on stdout.
//
//     ts_client.mjs MODE http URL
//     ts_client.mjs MODE stdio COMMAND [ARGUMENT…]
//
// MODE is `auto`, `legacy` or a modern revision. The steps are the same for every client here:
// {"list": true} and {"call": NAME, "arguments": {…}, "cancel_at_progress": BOOL}.
// KITBAG_TOOLS names the folder whose node_modules hold the client.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const require = createRequire(join(process.env.KITBAG_TOOLS, 'package.json'));
const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');

const [mode, kind, ...rest] = process.argv.slice(2);

const emit = event => console.log(JSON.stringify(event));

function transport() {
    if (kind === 'http') {
        return new StreamableHTTPClientTransport(new URL(rest[0]));
    }
    return new StdioClientTransport({ command: rest[0], args: rest.slice(1), stderr: 'inherit', env: process.env });
}

async function call(client, step) {
    const abort = new AbortController();
    const onprogress = progress => {
        emit({ progress });
        if (step.cancel_at_progress) {
            abort.abort('no longer wanted');
        }
    };
    try {
        const options = { onprogress, signal: abort.signal };
        emit({ result: await client.callTool({ name: step.call, arguments: step.arguments }, options) });
    } catch (error) {
        emit(abort.signal.aborted ? { cancelled: true } : { error: error.message });
    }
}

async function list(client) {
    // The client walks through all pages by itself; a test that lists twice expects to see changes.
    const { tools } = await client.listTools(undefined, { cacheMode: 'refresh' });
    emit({ tools: tools.map(tool => tool.name) });
}

const versionNegotiation = { mode: mode === 'auto' || mode === 'legacy' ? mode : { pin: mode } };
const client = new Client({ name: 'kitbag-tests', version: '0' }, { versionNegotiation });
await client.connect(transport());
emit({ connected: client.getNegotiatedProtocolVersion() });
for await (const line of createInterface({ input: process.stdin })) {
    const step = JSON.parse(line);
    await (step.list ? list(client) : call(client, step));
}
await client.close();
