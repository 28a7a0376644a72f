// Drives the official TypeScript SDKs of two model vendors, and prints their results as JSON.
//
//     model_sdks.mjs BASE
//
// BASE is the address below which both vendors are. The steps are those of model_sdks.py.
// KITBAG_TOOLS names the folder whose node_modules hold the SDKs.

import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.env.KITBAG_TOOLS, 'package.json'));
const Anthropic = require('@anthropic-ai/sdk').default ?? require('@anthropic-ai/sdk');
const OpenAI = require('openai').default ?? require('openai');

const base = process.argv[2];
const told = {};

const claude = new Anthropic({ baseURL: `${base}/anthropic`, apiKey: 'sk-ant-test', maxRetries: 0 });
const asked = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] };
const tools = [{ name: 'look_up', description: 'Looks up.', input_schema: { type: 'object' } }];

const message = await claude.messages.create(asked);
told.message = [message.content[0].text, message.usage.output_tokens, message._request_id];
const stream = claude.messages.stream(asked);
let text = '';
stream.on('text', piece => (text += piece));
told.stream = [(await stream.finalMessage(), text), (await stream.finalMessage()).stop_reason];
const used = await claude.messages.create({ ...asked, tools, tool_choice: { type: 'any' } });
told.tool = [used.content[0].name, used.content[0].input];
try {
    await claude.messages.create({ ...asked, model: 'busy' });
} catch (error) {
    told.busy = [error.status, error.error.error.message, error.headers.get('retry-after')];
}
try {
    await claude.messages.create({ ...asked, model: 'overloaded' });
} catch (error) {
    told.overloaded = [error.status, error.error.error.type];
}
told.count = (await claude.messages.countTokens({ model: 'm', messages: asked.messages })).input_tokens;

const gpt = new OpenAI({ baseURL: `${base}/openai/v1`, apiKey: 'sk-test', maxRetries: 0 });
const chat = { model: 'm', messages: asked.messages };
const fn = { name: 'look_up', parameters: { type: 'object', properties: {} } };

const completion = await gpt.chat.completions.create(chat);
told.chat = [completion.choices[0].message.content, completion._request_id];
told.chat_stream = '';
for await (const chunk of await gpt.chat.completions.create({ ...chat, stream: true })) {
    told.chat_stream += chunk.choices[0].delta.content ?? '';
}
const called = await gpt.chat.completions.create({ ...chat, tools: [{ type: 'function', function: fn }] });
told.chat_tool = called.choices[0].message.tool_calls[0].function.name;
try {
    await gpt.chat.completions.create({ ...chat, model: 'bad' });
} catch (error) {
    told.chat_bad = [error.status, error.error.message];
}
const response = await gpt.responses.create({
    model: 'm',
    input: 'hi',
    tools: [{ type: 'function', ...fn, strict: false }],
});
told.response = response.output_text;
told.response_stream = '';
for await (const event of await gpt.responses.create({ model: 'm', input: 'hi', stream: true })) {
    told.response_stream += event.type === 'response.output_text.delta' ? event.delta : '';
}
told.models = [];
for await (const model of gpt.models.list()) {
    told.models.push(model.id);
}

console.log(JSON.stringify(told));
