// The same with scripts disabled: links and forms do everything.

import assert from 'node:assert/strict';
import { discover, openWindow, withBrowser } from './browser.mjs';
import { configure, testbed, Gateway, kitbag } from './gateway.mjs';

configure(testbed('bed'));
const gateway = await Gateway.start();
await withBrowser(async browser => {
    const page = await openWindow(browser, { javaScriptEnabled: false });
    const main = page.locator('main');
    for (const path of await discover(page, gateway.base, 1)) {
        await page.goto(gateway.base + path);
        await page.getByRole('heading', { level: 1 }).waitFor();
        assert.equal(await page.locator('#connection').isVisible(), false, path);
    }
    await page.goto(`${gateway.base}/ui/tools/bed__echo`);
    await main.getByLabel(/^message/).fill('without a script');
    await main.getByRole('button', { name: 'Call', exact: true }).click();
    const confirm = main.getByRole('button', { name: 'Call it' });
    await confirm.or(main.getByText('In the audit')).first().waitFor();
    if (await confirm.isVisible()) {
        await confirm.click();
    }
    await main.getByText('without a script').first().waitFor();
    await page.getByRole('link', { name: 'Calls', exact: true }).click();
    await main.getByLabel('Tool').fill('*echo*');
    await main.getByRole('button', { name: 'Filter' }).click();
    await page.waitForURL(/tool=/);
    await main.locator('tr', { hasText: 'echo' }).first().waitFor();
    await page.goto(`${gateway.base}/ui/servers/bed`);
    await main.getByRole('button', { name: 'Restart' }).click();
    await main.getByText(/restarted/).first().waitFor();
    assert.match(kitbag('audit', '--json'), /kitbag ui/);
});
