// A web page of another port, in the browser of a person with a session.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { openWindow, visit, withBrowser } from './browser.mjs';
import { Gateway, configure, kitbag } from './gateway.mjs';

configure('');
const { key } = JSON.parse(kitbag('key', 'create', '--role', 'admin', '--json'));
const gateway = await Gateway.start({ flags: ['--require-key'] });
const server = createServer((request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end('<title>elsewhere</title><h1>elsewhere</h1>');
});
await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address();

await withBrowser(async browser => {
    const person = await openWindow(browser);
    await person.goto(`${gateway.base}/ui/calls`);
    assert.match(person.url(), /\/ui\/sign-in\?next=%2Fui%2Fcalls$/);
    await person.getByLabel('Key').fill(key);
    await person.keyboard.press('Enter');
    await person.waitForURL(`${gateway.base}/ui/calls`);
    const token = await person.locator('input[name=csrf]').first().inputValue();

    // Another site by its name, and the same site on another port.
    for (const host of ['localhost', '127.0.0.1']) {
        const page = await person.context().newPage();
        await page.goto(`http://${host}:${port}/`);
        const read = await page.evaluate(async base => {
            const plain = await fetch(`${base}/ui`, { credentials: 'include' }).then(it => it.text(), () => 'refused');
            const opaque = await fetch(`${base}/ui`, { credentials: 'include', mode: 'no-cors' }).then(it => it.type, () => 'refused');
            return [plain, opaque];
        }, gateway.base);
        assert.equal(read[0], 'refused', host);
        assert.ok(['opaque', 'refused'].includes(read[1]), `${host} ${read}`);

        // A frame stays empty.
        await page.setContent(`<iframe src="${gateway.base}/ui"></iframe>`);
        const frame = page.frames().find(it => it !== page.mainFrame());
        const framed = await frame.evaluate(() => document.body.innerText).catch(() => '');
        assert.doesNotMatch(framed, /Overview/, host);

        // A form with the token, should it have leaked, is not accepted.
        await page.goto(`http://${host}:${port}/`);
        await page.setContent(`<form method="post" action="${gateway.base}/ui/sign-out">
            <input name="csrf" value="${token}"><button>Send</button></form>`);
        const [answer] = await Promise.all([
            page.waitForResponse(it => it.url().endsWith('/ui/sign-out')),
            page.getByRole('button').click(),
        ]);
        assert.equal(answer.status(), 403, host);

        // A link opens the page in the person's session.
        await page.goto(`http://${host}:${port}/`);
        await page.setContent(`<a href="${gateway.base}/ui/calls">calls</a>`);
        await page.getByRole('link').click();
        await page.getByRole('heading', { level: 1, name: 'Calls' }).waitFor();
        await page.close();
    }
    await visit(person, `${gateway.base}/ui`);
    await person.getByRole('button', { name: 'Sign out' }).click();
    await person.waitForURL(/sign-in/);
});
