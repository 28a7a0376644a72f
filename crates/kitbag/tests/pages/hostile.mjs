// A server whose every text wants to run, or to look like another text, on every page.

import assert from 'node:assert/strict';
import { discover, openWindow, visit, withBrowser } from './browser.mjs';
import { Gateway, attempt, configure, connectClient, home, kitbag, table, testbed, write } from './gateway.mjs';

const TAGS = [...'run this'].map(letter => String.fromCodePoint(0xe0000 + letter.codePointAt(0))).join('');
const TEXT =
    '<script>canary=1</script><x-canary onclick=canary=1><img src=x onerror=canary=1>"\' autofocus onfocus="canary=1" ' +
    `--></textarea></title></style></option></select> \u001b[2J\u001b]8;;http://evil.example\u0007link \u202egnp.exe\u202c a\u200bb${TAGS} ` +
    '[x](javascript:canary=1) javascript:canary=1';
// What no page may contain anywhere. Narrow spaces between digits are ours.
const INVISIBLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\u{e0000}-\u{e007f}]/u;

function definitions(description) {
    const property = { type: 'string', title: TEXT, description: TEXT, default: TEXT };
    const inputSchema = {
        type: 'object',
        properties: { [TEXT]: property, fails: { type: 'string' }, choice: { enum: [TEXT, 'b'] } },
    };
    const tool = name => ({ name, title: TEXT, description, inputSchema, annotations: { title: TEXT } });
    return JSON.stringify({ tools: [tool('plain'), tool('second'), tool(TEXT.slice(0, 60))], instructions: TEXT });
}

write('bed/edited.json', definitions(TEXT));
const hostile = testbed('hostile', '--manner', 'edited', '--manner', 'markup', '--data-dir', `${home}/bed`);
const broken = table('broken', 'sh', '-c', 'printf "%s\\n" "$0" >&2; exit 3', TEXT);
configure(`[catalog]\ntools = ["submit-feedback"]\n${hostile}${broken}[audit]\narguments = "redacted"\n`);
kitbag('lock', 'hostile');
const gateway = await Gateway.start();
for (const args of ['{}', '{"fails": "error"}', '{"fails": "fault"}']) {
    attempt('call', 'hostile__plain', args);
}
attempt('call', 'broken__x', '{}');
const call = await connectClient(gateway.base, TEXT);
await call('hostile__plain', { [TEXT]: TEXT });
await call(TEXT, {});
kitbag('search', TEXT.replaceAll('\u001b', ' '));
// What agents and clients write.
kitbag('call', 'submit_feedback', JSON.stringify({ kind: 'bug', summary: TEXT.slice(0, 200), details: TEXT, tool: TEXT.slice(0, 100) }));
attempt('run', write('program.js', `console.log(${JSON.stringify(TEXT)}); throw new Error(${JSON.stringify(TEXT)})`));
attempt('learned', 'mark', 'hostile__plain', '--query', TEXT);
attempt('key', 'create', '--role', 'operator', '--label', TEXT);
// Another definition than the approved one.
write('bed/edited.json', definitions(`Changed. ${TEXT}`));
attempt('servers', 'restart', 'hostile');

await withBrowser(async browser => {
    const page = await openWindow(browser);
    const query = encodeURIComponent(TEXT);
    const asked = ['search?query=', 'search?q=', 'tools?q=', 'tools?query=', 'calls?tool=', 'calls?client=', 'tools/', 'servers/', 'calls/'];
    const paths = [...(await discover(page, gateway.base, 6)), ...asked.map(path => `/ui/${path}${query}`)];
    console.log(`${paths.length} pages`);
    let shown = '';
    for (const path of paths) {
        page.faults.length = 0;
        await page.goto(gateway.base + path);
        shown += await checkNothingRuns(page, path);
    }
    // The answers of tools that a person tries.
    for (const path of paths.filter(path => /^\/ui\/tools\/[^/?]+$/.test(path))) {
        await page.goto(gateway.base + path);
        const form = page.locator('form', { has: page.getByRole('button', { name: /^(try|call|run)/i }) }).first();
        if ((await form.count()) > 0) {
            await form.getByRole('button').first().click();
            await page.waitForLoadState();
            shown += await checkNothingRuns(page, `the answer of ${path}`);
        }
    }
    assert.ok(shown.includes('Changed. '), 'a definition that waits for approval is shown');
    assert.ok(shown.includes('<U+202E>'), 'hidden characters are named');
    assert.ok(shown.includes('<x-canary'), 'markup is shown as text');
    assert.ok(shown.includes('<U+001B>'), 'terminal escapes are named');
});

// Returns the text of the page.
async function checkNothingRuns(page, what) {
    const found = await page.evaluate(() => ({
        ran: typeof canary !== 'undefined',
        elements: [...document.querySelectorAll(
            'x-canary, main img:not([src^="data:image/"]), iframe, style, [style], [onclick], [onerror], [onfocus], [onmouseover], ' +
                'script:not([src^="/ui/assets/"]), a[href^="javascript:" i], a[href^="http:"]',
        )].map(element => element.outerHTML.slice(0, 200)),
        html: `${document.title} ${document.documentElement.outerHTML}`,
        text: document.body.innerText,
    }));
    assert.equal(found.ran, false, `${what}: it has run`);
    assert.deepEqual(found.elements, [], `${what}: markup is interpreted`);
    const invisible = found.html.match(INVISIBLE);
    const near = invisible && found.html.slice(Math.max(0, invisible.index - 150), invisible.index + 20);
    assert.equal(invisible, null, `${what}: an invisible character after ${JSON.stringify(near)}`);
    const faults = page.faults.filter(fault => !/status of 40\d/.test(fault));
    assert.deepEqual(faults, [], `${what}: the console`);
    return found.text;
}
