// An open page shows what happens elsewhere, and says when it has lost the gateway.

import assert from 'node:assert/strict';
import { openWindow, visit, withBrowser } from './browser.mjs';
import { Gateway, configure, freePort, kitbag, testbed } from './gateway.mjs';

configure(testbed('bed'));
const port = await freePort();
let gateway = await Gateway.start({ port });
kitbag('call', 'bed__echo', '{"message": "before"}');
await withBrowser(async browser => {
    const page = await openWindow(browser);
    await visit(page, `${gateway.base}/ui/calls`);
    const rows = page.locator('main tbody tr');
    await rows.first().waitFor();
    const before = await rows.count();
    await page.evaluate(() => (window.isSameDocument = true));
    kitbag('call', 'bed__test_simple_text', '{}');
    await rows.nth(before).waitFor();
    await page.locator('main tbody tr', { hasText: 'test_simple_text' }).first().waitFor();
    assert.equal(await page.evaluate(() => window.isSameDocument), true, 'without loading the page again');

    const lost = page.locator('#connection');
    assert.equal(await lost.isVisible(), false);
    await gateway.kill();
    await lost.waitFor({ state: 'visible' });
    assert.match(await lost.innerText(), /connection.*lost/i);
    gateway = await Gateway.start({ port });
    await lost.waitFor({ state: 'hidden' });
    kitbag('call', 'bed__test_simple_text', '{}');
    await rows.nth(before + 1).waitFor();
    assert.equal(await page.evaluate(() => window.isSameDocument), true);

    // A browser opens six connections to one host. Pages in the background leave them to others.
    for (let number = 0; number < 8; number += 1) {
        const other = await page.context().newPage();
        await other.goto(`${gateway.base}/ui/calls`);
        await setHidden(other, true);
    }
    // One that comes back shows what it has missed.
    await setHidden(page, true);
    kitbag('call', 'bed__test_simple_text', '{}');
    await setHidden(page, false);
    await rows.nth(before + 2).waitFor();
});

function setHidden(page, hidden) {
    return page.evaluate(hidden => {
        Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);
}
