// The same with scripts disabled: links and forms do everything.

import assert from 'node:assert/strict';
import { discover, openWindow, withBrowser } from './browser.mjs';
import { Gateway, configure, demo, kitbag } from './gateway.mjs';

configure(demo('shop'));
const gateway = await Gateway.start();
await withBrowser(async browser => {
    const page = await openWindow(browser, { javaScriptEnabled: false });
    const main = page.locator('main');
    for (const path of await discover(page, gateway.base, 1)) {
        await page.goto(gateway.base + path);
        await page.getByRole('heading', { level: 1 }).waitFor();
        assert.equal(await page.locator('#connection').isVisible(), false, path);
    }
    await page.goto(`${gateway.base}/ui/tools/shop__refund_order`);
    await main.getByLabel(/^order/).fill('1004');
    await main.getByLabel(/^reason/).fill('broken');
    await main.getByRole('button', { name: 'Call', exact: true }).click();
    await main.getByRole('button', { name: 'Call it' }).click();
    await main.getByText('refunded').first().waitFor();
    await page.getByRole('link', { name: 'Calls', exact: true }).click();
    await main.getByRole('searchbox', { name: 'Tool' }).fill('*refund*');
    await main.getByRole('button', { name: 'Filter' }).click();
    await page.waitForURL(/tool=/);
    await main.locator('tr', { hasText: 'refund' }).first().waitFor();
    await page.goto(`${gateway.base}/ui/servers/shop`);
    await main.getByRole('button', { name: 'Restart' }).click();
    await main.getByText(/restarted/).first().waitFor();
    assert.match(kitbag('audit', '--json'), /kitbag ui/);
});
