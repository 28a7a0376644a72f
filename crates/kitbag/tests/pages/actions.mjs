// Each change that a page offers: it happens, the next page says so, and the audit has its row.

import assert from 'node:assert/strict';
import { checkPage, openWindow, withBrowser } from './browser.mjs';
import { kitbag } from './gateway.mjs';
import { startUsedGateway } from './used.mjs';

const gateway = await startUsedGateway();
await withBrowser(async browser => {
    const page = await openWindow(browser);
    const main = page.locator('main');
    const button = name => main.getByRole('button', { name, exact: true }).first();
    const open = path => page.goto(`${gateway.base}/ui${path}`);
    const changes = () => kitbag('audit', '--json', '-n', '500').split('kitbag ui').length - 1;

    // Does something on a page and waits for the notice of the next one.
    const change = async (what, path, act, done) => {
        const before = changes();
        await open(path);
        await act();
        await main.locator('.notice, [role=alert]').filter({ hasText: done }).first().waitFor();
        await checkPage(page, what);
        assert.ok(changes() > before, `${what}: no row in the audit`);
    };
    // Opens a question and confirms it.
    const confirm = async label => {
        const question = main.locator('details.confirm').filter({ hasText: `${label}…` }).first();
        await question.locator('summary').click();
        await question.getByRole('button', { name: label, exact: true }).click();
    };

    await change('create a key', '/access', async () => {
        const question = main.locator('details.confirm', { hasText: 'Create a key…' });
        await question.locator('summary').click();
        await question.locator('select[name=role]').selectOption('operator');
        await question.locator('input[name=label]').fill('made on a page');
        await question.getByRole('button', { name: 'Create key' }).click();
    }, 'kb_');
    const key = await main.locator('code.secret').innerText();
    await page.reload();
    assert.ok(!(await main.innerText()).includes(key), 'a key is shown once');
    assert.match(kitbag('key', 'list'), /made on a page/);
    await change('revoke a key', '/access', () => confirm('Revoke'), /revoked/i);
    await open('/access?who=acme&tool=shop__get_order');
    await main.getByText(/acme/).first().waitFor();
    await checkPage(page, 'the tester of rules');

    const search = '/search?q=give+money+back';
    await change('mark a tool', search, () => main.getByRole('button', { name: 'shop__refund_order is right' }).click(), /./);
    await change('mark another', search, () => main.getByRole('button', { name: 'desk__close_ticket is wrong' }).click(), /./);
    await change('forget a lesson', '/learned?list=lessons', () => button('Forget').click(), /./);
    await change('forget all', '/learned', () => confirm('Forget all'), /./);
    await change('resolve a report', '/feedback/1', async () => {
        await main.getByLabel(/^How it was resolved/).fill('the server cad reads them now');
        await button('Mark as resolved').click();
    }, /./);
    assert.match(kitbag('feedback', 'list', '--status', 'all', '--json'), /cad reads them now/);

    await change('disable a server', '/servers/desk', () => button('Disable').click(), /./);
    await change('enable it', '/servers/desk', () => button('Enable').click(), /./);
    await change('restart a server', '/servers/bed', () => button('Restart').click(), /restarted/);
    await change('lock a server', '/servers/bed', () => button('Lock this server').click(), /./);
    await change('unlock it', '/servers/bed', () => confirm('Unlock'), /./);
    await change('remove a server', '/servers/calendar', () => confirm('Remove'), /removed/i);
    assert.doesNotMatch(kitbag('servers', 'list'), /calendar/);

    // The configuration of another client: first what it would run, then the addition.
    await open('/servers/add');
    const pasted = { mcpServers: { pasted: { command: process.env.TESTBED, args: ['--era', 'modern', 'stdio'] } } };
    await main.locator('textarea[name=text]').fill(JSON.stringify(pasted));
    await button('Show what it would add').click();
    await main.getByText('--era modern stdio').first().waitFor();
    await checkPage(page, 'what a pasted configuration would run');
    const before = changes();
    await main.getByRole('button', { name: /^Add/ }).first().click();
    await main.locator('.notice').first().waitFor();
    assert.match(kitbag('servers', 'list'), /pasted/);
    assert.ok(changes() > before);
});
