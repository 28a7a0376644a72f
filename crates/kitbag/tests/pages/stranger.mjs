// A person who has never seen the pages, with the keyboard only: adds a server, finds a tool, tries it,
// sees the call, and approves a changed definition.

import assert from 'node:assert/strict';
import { checkPage, openWindow, withBrowser } from './browser.mjs';
import { Gateway, configure, home, kitbag, write } from './gateway.mjs';
import { enter, follow, moveTo, type } from './keyboard.mjs';

function publish(description) {
    const inputSchema = {
        type: 'object',
        properties: { person: { type: 'string', description: 'Whom to greet' } },
        required: ['person'],
    };
    write('greeter/edited.json', JSON.stringify({ tools: [{ name: 'welcome', description, inputSchema }] }));
}

publish('Sends a greeting to a person, with their name in it.');
configure('');
const gateway = await Gateway.start();
await withBrowser(async browser => {
    const page = await openWindow(browser);
    const main = page.locator('main');
    await page.goto(gateway.base);

    // Adds a server.
    await follow(page, 'Servers');
    await follow(page, /^Add a server/);
    await type(page, 'Name', 'greeter');
    await type(page, 'Command line or URL', `${process.env.TESTBED} --manner edited --data-dir ${home}/greeter stdio`);
    await follow(page, 'Add server');
    await main.getByText(/greeter/).first().waitFor();
    await checkPage(page, 'after adding a server');
    assert.match(kitbag('servers', 'list'), /greeter/);

    // Finds a tool.
    await follow(page, 'Search');
    await type(page, 'Request', 'say hello to somebody');
    await enter(page);
    await follow(page, 'greeter__welcome');

    // Tries it. The server does not say that it only reads, so the page asks once more.
    await type(page, /^person/, 'Ada');
    await enter(page);
    await follow(page, 'Call it');
    await main.getByText('Ada').first().waitFor();
    await checkPage(page, 'the answer of a tool');

    // Sees the call.
    await follow(page, 'Calls');
    await main.locator('tr', { hasText: 'welcome' }).first().waitFor();
    await follow(page, /welcome/);
    await main.getByText('greeter').first().waitFor();
    await checkPage(page, 'one call');

    // Approves its definitions; then the author publishes another.
    await follow(page, 'Servers');
    await follow(page, 'greeter');
    await follow(page, 'Lock this server');
    await main.getByText('locked', { exact: true }).waitFor();
    publish('Sends a greeting to a person, and a copy of it to the author.');
    await follow(page, 'Restart');
    await follow(page, 'Overview');
    await main.getByText('greeter').first().waitFor();
    await checkPage(page, 'the overview with an approval');
    assert.match(await main.innerText(), /approv/i);
    await follow(page, /^(Review|Approve)/);
    await main.getByText(/a copy of it to the author/).first().waitFor();
    await follow(page, 'Approve');
    await main.getByText(/as approved/).first().waitFor();
    assert.doesNotMatch(kitbag('lock', 'status'), /changed/);
    const audit = kitbag('audit', '--json');
    assert.match(audit, /kitbag ui/, 'the changes are in the audit');
    await moveTo(page, 'Skip to content');
    assert.deepEqual(page.faults, []);
});
